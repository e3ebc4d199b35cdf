# SPDX-License-Identifier: MIT
"""The magics of a notebook, in kernels of a real Jupyter on the simulated device."""

import glob
import json
import os
import re
import shutil
import unittest

import notebooks
import tap
from notebooks import BUILD, HERE, PROGRAM, SOURCE, Kernel, must, run

MAGIC = """\
%%gpumemtrace
a = allocate(1000)
b = allocate(2000)
free(a)
free(old[0])
kept = [allocate(10) for _ in range(4)]
"last value"
"""
MiB = 1 << 20


def packages_of_the_page(case):
    """Returns the folder of the npm packages that drive a browser."""
    for program in "node", "chromium":
        if not shutil.which(program):
            case.skipTest(f"{program} is missing")
    packages = run(os.path.join(SOURCE, "scripts", "setup", "page"), "--if-ready")
    if packages.returncode:
        case.skipTest("run scripts/setup/page")
    return packages.stdout.split()[-1]


class Magics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel(cls)
        cls.notebook = cls.kernel.execute(
            "%gpumemtrace",  # 0
            PROGRAM + "old = [allocate(1 << 20) for _ in range(3)]\n",
            "%gpumemtrace --no-page",
            MAGIC,
            "%%gpumemtrace --no-page\n%%time\nx = 1\ny = allocate(77)",  # 4
            "%%gpumemtrace --page\nz = allocate(5)\nraise ValueError('boom')",
            "print('z' in dir(), y.value > 0)",
            "%%gpumemtrace\nawait x",
            "%%gpumemtrace\n1 +",  # 8
            "%gpumemtrace 4 --no-page",
            "%gpumemtrace 99",
            "%gpumemtrace --pages",
            "import threading\n"  # 12
            "def elsewhere():\n    cuda.cuCtxSetCurrent(context)\n    globals()['other'] = allocate(300)\n"
            "thread = threading.Thread(target=elsewhere)\nthread.start()\nthread.join()\n%time q = allocate(123456)",
            "%gpumemtrace --no-page",
            "import asyncio\nawait asyncio.sleep(0)\nw = allocate(31)",
            "%gpumemtrace --no-page",
            "%%gpumemtrace --no-page\nx = 2",  # 16
            "%%gpumemtrace --no-page\nfree(b)",
            "%%gpumemtrace --no-page\nget_ipython().run_cell('v = allocate(41)')\nu = allocate(42)",
            "%%gpumemtrace --no-page\ntext = '<b>&amp;</b>'; t = allocate(43)",
            "%unload_ext gpumemtrace",  # 20
            "%%gpumemtrace\n1",
            "%load_ext gpumemtrace",
            "%%gpumemtrace --no-page\ns = allocate(44)",
        )

    def test_a_cell_shows_what_each_line_allocated_left_and_held_at_the_peak(self):
        shown = self.notebook.shown(3)
        # The peak is 3 MiB and both first blocks: the second line. Later blocks come after a free of 1 MiB.
        self.assertEqual(
            shown.rows(),
            [
                (2, 1000, 1, 0, 0, 1000, "a = allocate(1000)"),
                (3, 2000, 1, 2000, 1, 2000, "b = allocate(2000)"),
                (6, 40, 4, 40, 4, 0, "kept = [allocate(10) for _ in range(4)]"),
                ("", 0, 0, 0, 0, 3 * MiB, "older than this cell"),
                ("sum", 3040, 6, 2040, 5, 3 * MiB + 3000, ""),
            ],
        )
        self.assertIn("In [4]", shown.text)
        self.assertIn("live 3.00 MiB before, 2.00 MiB after", shown.text)
        self.assertIn("kept = [allocate(10) for _ in range(4)]", shown.plain)

    def test_the_value_of_the_last_line_is_shown_as_without_the_magic(self):
        (result,) = self.notebook.outputs(3, "execute_result")
        self.assertEqual("".join(result["data"]["text/plain"]), "'last value'")

    def test_the_page_of_the_recording_is_inline_and_closed(self):
        shown = self.notebook.shown(3)
        (page,) = shown.pages
        self.assertFalse(shown.is_open)
        self.assertIn("<!doctype html>", page.lower()[:100])
        self.assertTrue(self.notebook.shown(5).is_open)
        self.assertEqual(self.notebook.shown(4).pages, [])

    def test_lines_below_time_are_lines_of_the_cell(self):
        self.assertEqual(self.notebook.shown(4).rows()[0], (4, 77, 1, 77, 1, 77, "y = allocate(77)"))

    def test_a_cell_that_raises_shows_its_error_once_and_its_numbers_and_fails(self):
        errors = self.notebook.outputs(5, "error")
        self.assertEqual({(one["ename"], one["evalue"]) for one in errors}, {("ValueError", "boom")})
        texts = [re.sub(r"\x1b\[[\d;]*m", "", "\n".join(one["traceback"])) for one in errors]
        self.assertEqual([bool(one) for one in texts], [True, False])
        self.assertRegex(texts[0], r"(?m)^-+> 3 raise ValueError\('boom'\)")
        self.assertNotIn("notebook.py", texts[0])
        self.assertEqual(self.notebook.shown(5).rows()[0], (2, 5, 1, 5, 1, 5, "z = allocate(5)"))
        # As without the magic, the names stay.
        self.assertEqual(self.notebook.printed(6), "True True\n")

    def test_a_syntax_error_is_shown_once_and_fails_the_cell(self):
        errors = self.notebook.outputs(8, "error")
        self.assertEqual([one["ename"] for one in errors], ["SyntaxError"] * 2)
        self.assertEqual([bool(one["traceback"]) for one in errors], [True, False])
        self.assertEqual(self.notebook.outputs(8, "display_data"), [])

    def test_every_cell_is_a_phase_and_can_be_shown_later(self):
        shown = self.notebook.shown(2)
        self.assertEqual(shown.rows()[-1], ("sum", 3 * MiB, 3, 3 * MiB, 3, 3 * MiB, ""))
        self.assertIn("In [2]", shown.text)
        # The cell with the magic, by its number.
        self.assertEqual(self.notebook.shown(9).rows(), self.notebook.shown(3).rows())

    def test_code_of_threads_and_of_magics_in_a_line_is_in_the_table(self):
        rows = {row[0]: row[1:] for row in self.notebook.shown(13).rows()}
        self.assertEqual(rows[4], (300, 1, 300, 1, 300, "globals()['other'] = allocate(300)"))
        self.assertEqual(rows[8], (123456, 1, 123456, 1, 123456, "%time q = allocate(123456)"))

    def test_a_cell_with_await_is_measured_by_the_next_one(self):
        self.assertIn("a cell with `await` cannot run inside a magic", self.notebook.printed(7, "stderr"))
        self.assertEqual(self.notebook.shown(15).rows()[0], (3, 31, 1, 31, 1, 31, "w = allocate(31)"))

    def test_a_cell_without_gpu_memory_says_so(self):
        self.assertEqual(self.notebook.shown(16).text.strip(), "In [17] allocated and freed no GPU memory")

    def test_a_cell_that_only_frees_shows_what_it_freed(self):
        shown = self.notebook.shown(17)
        self.assertEqual([row[:5] for row in shown.rows()], [("", 0, 0, 0, 0), ("sum", 0, 0, 0, 0)])
        self.assertIn("allocated 0 B", shown.text)

    def test_code_that_a_cell_runs_by_itself_counts_to_the_line_that_runs_it(self):
        rows = self.notebook.shown(18).rows()
        self.assertEqual([row[:3] for row in rows[:2]], [(2, 41, 1), (3, 42, 1)])

    def test_code_is_shown_as_it_is(self):
        self.assertEqual(self.notebook.shown(19).rows()[0][-1], "text = '<b>&amp;</b>'; t = allocate(43)")

    def test_what_cannot_be_shown_is_one_line(self):
        for cell, message in (
            (0, "gpumemtrace: no cell has run yet"),
            (10, "gpumemtrace: there is no cell In [99]"),
            (11, "gpumemtrace: unrecognized arguments: --pages"),
        ):
            with self.subTest(message=message):
                text = self.notebook.printed(cell, "stderr")
                self.assertIn(message, text)
                self.assertEqual(text.strip().count("\n"), 0)
                self.assertEqual(self.notebook.outputs(cell, "error"), [])

    def test_the_extension_can_be_removed_and_loaded_again(self):
        self.assertIn("%%gpumemtrace", self.notebook.printed(21, "stderr"))
        self.assertEqual(self.notebook.shown(23).rows()[0], (2, 44, 1, 44, 1, 44, "s = allocate(44)"))

    def test_a_line_of_a_cell_is_the_users_own_line_in_reports(self):
        (recording,) = glob.glob(f"{self.kernel.folder}/*.gmt.gz")
        report = json.loads(must(f"{notebooks.TOOLS}/gpumemtrace", "report", "--json", recording))
        self.assertEqual([one["name"] for one in report["phases"]][:2], ["In [2]", "In [3]"])
        own = {one["stack"][one["own_frame"]]["file"] for one in report["sites"] if one["stack"]}
        self.assertTrue(all("/ipykernel_" in one or one == "<timed exec>" for one in own), own)

    def test_a_browser_shows_the_table_and_the_page_without_an_error(self):
        packages = packages_of_the_page(self)
        words = ["node", f"{HERE}/read_notebook.mjs", packages, self.notebook.path + ".html"]
        answer = json.loads(must(*words, timeout=120))
        self.assertEqual(answer["problems"], [])
        first = answer["tables"][1]
        self.assertEqual(first[0], ["line", "allocated", "blocks", "left", "blocks", "at the peak", "code"])
        self.assertEqual(first[2], ["3", "1.95 KiB", "1", "1.95 KiB", "1", "1.95 KiB", "b = allocate(2000)"])
        self.assertEqual(answer["pages"], [{"hidden": one, "ready": True, "changed": True} for one in (True, False)])


# A cell that allocates until the recorder has compacted the file two times.
FILL_WINDOW = """%%gpumemtrace --no-page
import glob, os, time

def file_number():
    (path,) = glob.glob(FOLDER + "/*.gmt.gz")
    return os.stat(path).st_ino

compactions, last, end = 0, file_number(), time.monotonic() + 60
while compactions < 2 and time.monotonic() < end:
    for _ in range(20000): free(allocate(64))
    time.sleep(0.3)
    now = file_number()
    compactions, last = compactions + (now != last), now
"""


class Kernels(unittest.TestCase):
    def test_a_kernel_without_the_recorder_says_what_to_type_and_runs_the_cell(self):
        kernel = Kernel(self)
        folder = f"{kernel.folder}/share/jupyter/kernels"
        shutil.copytree(f"{folder}/gpumemtrace", f"{folder}/plain")
        with open(f"{folder}/plain/kernel.json", encoding="utf-8") as file:
            content = json.load(file)
        del content["env"]["LD_PRELOAD"]
        with open(f"{folder}/plain/kernel.json", "w", encoding="utf-8") as file:
            json.dump(content, file)
        notebook = kernel.execute("%%gpumemtrace\nprint(6 * 7)", "%gpumemtrace", kernel="plain")
        self.assertEqual(notebook.printed(0), "42\n")
        for cell in 0, 1:
            text = notebook.printed(cell, "stderr")
            self.assertIn("this kernel does not record: type `python -m gpumemtrace kernelspec`", text)
            self.assertEqual(text.strip().count("\n"), 0)

    def test_a_cell_before_the_window_of_the_recording_is_refused(self):
        kernel = Kernel(self, "--options=mode=window:window=500")
        # Each compaction replaces the file. The second one begins in the cell and covers its first events.
        cell = FILL_WINDOW.replace("FOLDER", repr(kernel.folder))
        notebook = kernel.execute(PROGRAM + "keep = allocate(7)", cell, "x = allocate(99)", "%gpumemtrace")
        self.assertIn("In [2]` began in the compacted part", notebook.printed(1, "stderr"))
        self.assertEqual(notebook.shown(3).rows()[0], (1, 99, 1, 99, 1, 99, "x = allocate(99)"))

    def test_a_jupyter_server_lists_and_runs_the_kernel(self):
        kernel = Kernel(self, "--name=memory", "--display-name=Memory of GPUs")
        with kernel.server("jupyter_server") as (url, token):
            words = [kernel.python, f"{HERE}/run_in_server.py", url, token]
            answer = json.loads(must(*words, PROGRAM, MAGIC.replace("old[0]", "allocate(1)"), **kernel.variables))
        self.assertEqual(answer["display_name"], "Memory of GPUs")
        self.assertGreater(answer["logo_bytes"], 500)
        self.assertEqual(answer["status"], ["ok", "ok"])
        shown = notebooks.Output(answer["html"])
        self.assertEqual(shown.rows()[-1], ("sum", 3041, 7, 2040, 5, 3000, ""))
        self.assertEqual(shown.rows()[1], (3, 2000, 1, 2000, 1, 2000, "b = allocate(2000)"))

    def test_jupyterlab_runs_the_cell_and_shows_the_table_and_the_page_without_an_error(self):
        if not os.environ.get("GMT_TEST_LONG"):
            self.skipTest("only with --long: JupyterLab takes half a minute")
        packages = packages_of_the_page(self)
        kernel = Kernel(self)
        cells = [
            {
                "cell_type": "code",
                "id": f"c{number}",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for number, source in enumerate((PROGRAM, MAGIC.replace("old[0]", "allocate(1)")))
        ]
        names = {"name": "gpumemtrace", "display_name": "x", "language": "python"}
        os.mkdir(f"{kernel.folder}/notebooks")
        with open(f"{kernel.folder}/notebooks/a.ipynb", "w", encoding="utf-8") as file:
            json.dump({"cells": cells, "metadata": {"kernelspec": names}, "nbformat": 4, "nbformat_minor": 5}, file)
        with kernel.server("jupyterlab", f"--ServerApp.root_dir={kernel.folder}/notebooks") as (url, token):
            page = f"{url}lab/tree/a.ipynb?token={token}"
            answer = json.loads(must("node", f"{HERE}/run_in_jupyterlab.mjs", packages, page, timeout=400))
        self.assertEqual(answer["problems"], [])
        (table,) = answer["tables"]
        self.assertEqual(table[2], ["3", "1.95 KiB", "1", "1.95 KiB", "1", "1.95 KiB", "b = allocate(2000)"])

    def test_pytorch_agrees_to_the_byte(self):
        libraries = must(os.path.join(SOURCE, "scripts", "setup", "stubs"), BUILD).split()[-1]
        kernel = Kernel(self, libraries=libraries)
        numbers = "import json\ns = torch.cuda.memory_stats()\n" + (
            "print(json.dumps({k: s[f'allocated_bytes.all.{k}'] for k in ('current', 'peak', 'allocated')}))"
        )
        notebook = kernel.execute(
            "import torch\nweights = torch.zeros(1000, 1000, device='cuda')\ntorch.cuda.reset_peak_memory_stats()",
            numbers,
            "%%gpumemtrace\nx = torch.zeros(500, 700, device='cuda')\ny = weights + 1\nz = (weights * y).sum()\ndel x, y",
            numbers,
        )
        before, after = (json.loads(notebook.printed(cell)) for cell in (1, 3))
        rows = notebook.shown(2).rows("torch")
        line, allocated, _, left, _, peak, _ = rows[-1]
        self.assertEqual(allocated, after["allocated"] - before["allocated"])
        self.assertEqual(peak, after["peak"])
        self.assertEqual(left, after["current"] - before["current"])
        self.assertEqual([row[0] for row in rows], [2, 3, 4, "", "sum"])
        self.assertEqual(sum(row[5] for row in rows[:-1]), peak)
        self.assertGreaterEqual(rows[0][1], 500 * 700 * 4)
        print(f"# allocated {allocated}, left {left}, peak {peak} bytes")


if __name__ == "__main__":
    tap.main()
