# SPDX-License-Identifier: MIT
"""The numbers of a cell, from a copy of the recording up to now."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import Any

from gpumemtrace import _program
from gpumemtrace._notebook_cells import Cell

# The recorder answers in a quarter of a second, but writes the copy first.
_SNAPSHOT_SECONDS = 120


class CellError(Exception):
    """Says in one line why there are no numbers."""


@dataclass
class Line:
    """The memory of one line of a cell in one layer of one device, in bytes."""

    line: int | None  # None: code outside of the cell
    text: str
    allocated_bytes: int = 0
    allocated_blocks: int = 0
    left_bytes: int = 0
    left_blocks: int = 0
    peak_bytes: int = 0  # of this line's blocks, at the peak of the layer
    peak_blocks: int = 0


@dataclass
class Account:
    """The memory of a cell in one layer of one device (None: page-locked host memory), in bytes."""

    layer: str
    device: int | None
    allocated_bytes: int
    allocated_blocks: int
    freed_bytes: int  # also of blocks that are older than the cell
    freed_blocks: int
    begin_bytes: int  # live when the cell began
    end_bytes: int  # live when the cell ended
    peak_bytes: int  # the most that lived while the cell ran
    lines: list[Line] = field(default_factory=list)

    def total(self, name: str) -> int:
        return sum(getattr(line, name) for line in self.lines)


@dataclass
class Numbers:
    """The memory of a cell, by layer and device. ``remarks``: reasons why numbers may be too small."""

    cell: Cell
    accounts: list[Account]
    remarks: list[str]
    page: str | None  # the report as HTML


def _environment() -> dict[str, str]:
    """Returns the environment for the program, which needs no recorder."""
    return {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "GPUMEMTRACE_OPTIONS")}


def _start(folder: str, *words: str) -> subprocess.Popen[str]:
    program = _program.find()
    try:
        return subprocess.Popen(
            [program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
            cwd=folder,
        )
    except OSError as error:
        why = _program.why_unsuitable() or f"{program}: {error.strerror}: install the package again"
        raise CellError(f"cannot start gpumemtrace: {why}") from None


def _finish(process: subprocess.Popen[str], seconds: float | None = None) -> str:
    """Returns the program's output. Raises CellError with the first line of its error message."""
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise CellError(f"the recorder did not copy its recording within {seconds} s") from None
    except BaseException:  # also Kernel > Interrupt
        process.kill()
        process.communicate()
        raise
    if process.returncode:
        if "is not being recorded" in errors:
            raise CellError("there is no recording yet: it begins with the first allocation on a GPU")
        first = next((line for line in errors.splitlines() if ": error: " in line), errors.strip())
        raise CellError(first.replace("gpumemtrace: error: ", "", 1) or f"gpumemtrace failed ({process.returncode})")
    return output


def _own_place(site: dict[str, Any]) -> str:
    """Returns the user's own line of a stack that no line of the cell called."""
    stack = site["stack"]
    if not stack:
        return "no stack"
    frame = stack[min(site["own_frame"], len(stack) - 1)]
    if frame["file"]:
        return f"{os.path.basename(frame['file'])}:{frame['line']} in {frame['function']}"
    return str(frame["function"])


def _device(row: dict[str, Any]) -> int | None:
    device = row["device"]
    return None if device is None else int(device)


def from_report(report: dict[str, Any], cell: Cell, page: str | None = None) -> Numbers:
    """Turns `report --json --phase` into the numbers of the cell."""
    accounts: dict[tuple[str, int | None], Account] = {}
    lines: dict[tuple[str, int | None, int | None, str], Line] = {}
    for row in report["accounts"]:
        if row["alloc_bytes"] or row["freed_bytes"]:
            accounts[row["layer"], _device(row)] = Account(
                layer=row["layer"],
                device=_device(row),
                allocated_bytes=row["alloc_bytes"],
                allocated_blocks=row["allocs"],
                freed_bytes=row["freed_bytes"],
                freed_blocks=row["frees"],
                begin_bytes=row["begin_live_bytes"],
                end_bytes=row["end_live_bytes"],
                peak_bytes=row["peak_bytes"],
            )
    for site in report["sites"]:
        if (site["layer"], _device(site)) not in accounts:
            continue  # contexts, whose size the driver does not say
        number = cell.line_of(site["stack"])
        text = _own_place(site) if number is None else cell.text(number)
        key = (site["layer"], _device(site), number, text)
        if key not in lines:
            lines[key] = Line(number, text)
            accounts[key[:2]].lines.append(lines[key])
        line = lines[key]
        line.allocated_bytes += site["alloc_bytes"]
        line.allocated_blocks += site["allocs"]
        line.left_bytes += site["left_bytes"]
        line.left_blocks += site["left_blocks"]
        line.peak_bytes += site["peak_bytes"]
        line.peak_blocks += site["peak_blocks"]
    order = {"torch": 0, "custom": 1, "cuda": 2}
    rows = sorted(
        accounts.values(), key=lambda one: (one.device is None, one.device or 0, order.get(one.layer, 3), one.layer)
    )
    for account in rows:
        account.lines.sort(key=lambda line: (line.line is None, line.line or 0, -line.allocated_bytes, line.text))
    remarks = [] if report["complete"] else [str(one) for one in report["remarks"]]
    return Numbers(cell, rows, remarks, page)


def measure(cell: Cell, wants_page: bool) -> Numbers:
    """Copies the recording of this process, reads the cell's phase in it, and removes the copy."""
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-") as folder:
        # The page shows the name of the file, and messages do.
        copy = "notebook.gmt.gz"
        _finish(_start(folder, "snapshot", str(os.getpid()), "-o", os.path.join(folder, copy)), _SNAPSHOT_SECONDS)
        reading = _start(folder, "report", "--json", "--phase", cell.phase, copy)
        drawing = _start(folder, "report", "--html=notebook.html", copy) if wants_page else None
        try:
            report = json.loads(_finish(reading))
            text = None
            if drawing:
                _finish(drawing)
                with open(os.path.join(folder, "notebook.html"), encoding="utf-8", errors="replace") as file:
                    text = file.read()
        finally:
            if drawing and drawing.poll() is None:
                drawing.kill()
                drawing.communicate()
        return from_report(report, cell, text)
