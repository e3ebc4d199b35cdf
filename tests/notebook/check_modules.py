# SPDX-License-Identifier: MIT
"""Checks the modules of the magics without Jupyter. Runs in each Python version. Prints `done`."""

import sys
import time

began = time.perf_counter()
import gpumemtrace  # noqa: E402

spent = time.perf_counter() - began
assert "gpumemtrace.notebook" not in sys.modules and "json" not in sys.modules and "argparse" not in sys.modules, spent

from gpumemtrace import _notebook_html, _notebook_cells, notebook  # noqa: E402
from gpumemtrace._notebook_numbers import from_report  # noqa: E402


def frame(file, line, function="f", kind="python"):
    return {"kind": kind, "file": file, "line": line, "function": function, "module": None}


def site(size, *stack, left=0, peak=0, layer="torch", device=0):
    return {
        "layer": layer, "device": device, "space": "device", "own_frame": 0, "stack": list(stack),
        "allocs": 1, "alloc_bytes": size, "left_bytes": left, "left_blocks": int(left > 0),
        "peak_bytes": peak, "peak_blocks": int(peak > 0),
    }  # fmt: skip


def account(layer="torch", device=0, **more):
    names = "allocs alloc_bytes frees freed_bytes begin_live_bytes end_live_bytes peak_bytes".split()
    return {"layer": layer, "device": device, **dict.fromkeys(names, 0), **more}


# A phase begins when IPython compiles a cell, and ends with the cell. Code that a cell runs begins no phase.
events = []
cells = _notebook_cells.Cells(events.append, lambda: events.append("pop"))
cells.end()  # the cell that loaded the extension
cells.begin("%%gpumemtrace\nx = <1>\ny = 2")
assert cells.number_of(3) == 3
cells.compiled("outer")
cells.expect_inside(0)
cells.begin("# %%gpumemtrace\nx = <1>\ny = 2")
assert cells.number_of(4) == 3
cells.compiled("inner")
cells.compiled("another")
cells.begin("z = 3")
cells.compiled("nested")
cells.end()
cells.end()
assert cells.last is None and cells.current().number == 3
cells.end()
assert events == ["In [3]", "In [3]", "pop", "pop"], events
cell = cells.last
assert cell is cells.by_number[3] and cells.current() is None
assert cell.files == {"outer": 0, "inner": 0}, cell.files

# A line of the cell is the innermost frame of its code.
assert cell.line_of([frame("/lib/t.py", 9), frame("inner", 2), frame("inner", 3), frame("outer", 1)]) == 2
assert cell.line_of([frame("/lib/t.py", 9)]) is None
assert cell.line_of([frame(None, None, kind="native"), frame("outer", 1)]) == 1
timed = _notebook_cells.Cell("%%time\na\nb")
timed.files["cell"] = 0
assert timed.line_of([frame("<timed exec>", 2), frame("cell", 1)]) == 3
# Below `%time` in a line, IPython compiles the statement alone.
assert cell.line_of([frame("<timed exec>", 1), frame("inner", 3)]) == 3

report = {
    "complete": False,
    "remarks": ["<lost>"],
    "accounts": [
        account("cuda", alloc_bytes=2 << 20, allocs=1, peak_bytes=2 << 20, end_live_bytes=2 << 20),
        account("driver", allocs=1),
        account(
            allocs=4,
            alloc_bytes=1111,
            frees=2,
            freed_bytes=100,
            begin_live_bytes=50,
            end_live_bytes=1061,
            peak_bytes=1060,
        ),
    ],
    "sites": [
        site(1000, frame("inner", 2), left=1000, peak=1000),
        site(10, frame("/lib/t.py", 4), frame("inner", 2), left=10, peak=10),
        site(100, frame("inner", 3)),
        site(1, frame("/home/me/t.py", 7, "g"), left=1),
        site(2 << 20, frame("inner", 2), layer="cuda", left=2 << 20, peak=2 << 20),
        site(0, frame("inner", 2), layer="driver"),
    ],
}
numbers = from_report(report, cell, "<!doctype html>\"'&")
assert [one.layer for one in numbers.accounts] == ["torch", "cuda"]
rows = [(one.line, one.text, one.allocated_bytes, one.allocated_blocks, one.left_bytes, one.peak_bytes)
        for one in numbers.accounts[0].lines]  # fmt: skip
assert rows == [
    (2, "x = <1>", 1010, 2, 1010, 1010),
    (3, "y = 2", 100, 1, 0, 0),
    (None, "t.py:7 in g", 1, 1, 1, 0),
], rows

html = _notebook_html.as_html(numbers)
assert "<details>" in html and 'srcdoc="&lt;!doctype html&gt;&quot;&#x27;&amp;"' in html and "x = &lt;1&gt;" in html
assert "Note: &lt;lost&gt;" in html and 'title="1,010 B"' in html and "older than this cell" in html
assert "<details open>" in _notebook_html.as_html(numbers, True)
text = _notebook_html.as_text(numbers)
assert "In [3] on GPU 0, blocks of PyTorch: allocated 1.08 KiB, left 1011 B, peak 1.04 KiB" in text, text
assert [_notebook_html.size(one) for one in (0, 1023, 1024, 10230, 1 << 20, 1048064, 3 << 40)] == [
    "0 B", "1023 B", "1.00 KiB", "9.99 KiB", "1.00 MiB", "1.00 MiB", "3.00 TiB",
]  # fmt: skip
assert notebook.load and gpumemtrace.load_ipython_extension
print("done")
