# SPDX-License-Identifier: MIT
"""Every hooked function, through every road by which a call can reach it, is one exact event."""
import os
import re
import unittest

import tap
from snapshots import BUILD, SIMCUDA, Recording, records

PROGRAMS = os.environ["GMT_TEST_PROGRAMS"]
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALLOC, FREE, ALLOC_FAILED, FREE_FAILED = 1, 2, 3, 4
SPACES = {"device": 1, "managed": 2, "pool": 3, "pinned": 4}


def program(name):
    return os.path.join(PROGRAMS, name)


def hooks():
    """(library, symbol, base) of every row of hooks.def that records something."""
    with open(os.path.join(SOURCE, "preload", "hooks.def"), encoding="utf-8") as file:
        return re.findall(r"^GMT_HOOK_(?:ALLOC|FREE)\s*\((\w+), (\w+), (\w+)", file.read(), re.M)


def named(path):
    """The events of a snapshot, each with the name of its function."""
    names = {row["id"]: row["name"] for row in records(path, "api")}
    return [{**row, "name": names[row["api"]]} for row in records(path, "event")]


class Routes(unittest.TestCase):
    def check_row(self, route, symbol, expected_name):
        run = Recording([program("snippets"), route, symbol])
        self.assertEqual(run.code, 0, run.err)
        lines = run.out.splitlines()
        self.assertNotIn("failed", run.out)
        self.assertNotIn("none", run.out)
        last = lines[-1].split()
        events = named(run.file)
        self.assertEqual(len(events), len(lines), "one event for each call that the program made")
        event = events[-1]
        self.assertEqual(event["name"], expected_name)
        if last[0] == "alloc":
            self.assertEqual(event["kind"], ALLOC)
            self.assertEqual(event["space"], SPACES[last[1]])
            self.assertEqual(event["size_bytes"], int(last[2]))
            self.assertEqual(event["address"], int(last[3]))
            self.assertEqual(event["device"], -1 if last[1] == "pinned" else 0)
            self.assertNotEqual(event["stack"], 0)
        elif last[0] == "free":
            self.assertEqual(event["kind"], FREE)
            self.assertEqual(event["address"], int(last[1]))
            self.assertEqual(event["stack"], 0)
        else:
            self.assertIn(event["kind"], (ALLOC_FAILED, FREE_FAILED))
            self.assertNotEqual(event["result"], 0)

    def test_each_hook_is_recorded_when_bound_by_the_linker(self):
        for _, symbol, _ in hooks():
            with self.subTest(symbol):
                self.check_row("export", symbol, symbol)

    def test_each_hook_is_recorded_when_found_by_dlsym(self):
        for _, symbol, _ in hooks():
            with self.subTest(symbol):
                self.check_row("dlsym", symbol, symbol)

    def test_each_hook_is_recorded_when_found_in_the_program_handle(self):
        for _, symbol, _ in hooks():
            with self.subTest(symbol):
                self.check_row("handle", symbol, symbol)

    def test_each_driver_hook_is_recorded_when_found_by_cuGetProcAddress(self):
        for library, symbol, _ in hooks():
            if library == "CUDA":
                with self.subTest(symbol):
                    self.check_row("proc_address", symbol, symbol)

    def test_a_program_with_a_static_runtime_is_recorded_at_the_driver(self):
        run = Recording([program("snippets-static")])
        self.assertEqual(run.code, 0, run.err)
        expected = [line.split() for line in run.out.splitlines()]
        events = named(run.file)
        self.assertEqual(len(events), len(expected))
        for event, line in zip(events, expected):
            with self.subTest(line[1]):
                self.assertEqual(event["name"], line[1])
                self.assertEqual(event["address"], int(line[-1]))
                if line[0] == "alloc":
                    self.assertEqual((event["space"], event["size_bytes"]), (SPACES[line[2]], int(line[3])))

    def test_two_runtimes_in_one_process_each_get_their_own_calls(self):
        for order in (["12", "13"], ["13", "12"], ["12", "13", "12"]):
            plugins = [program(f"libplugin{major}.so") for major in order]
            run = Recording([program("two-runtimes"), *plugins])
            self.assertEqual(run.out.split(), order, run.err)
            sizes = [event["size_bytes"] // 1000 for event in named(run.file) if event["kind"] == ALLOC]
            self.assertEqual([str(size) for size in sizes], order)

    def test_a_runtime_call_is_one_event_under_its_own_name(self):
        run = Recording([program("busy-threads"), "1", "50"])
        self.assertEqual({event["name"] for event in named(run.file)}, {"cudaMalloc", "cudaFree"})

    def test_ctypes_users_are_recorded_with_their_python_stack(self):
        script = (
            "import ctypes\n"
            "runtime = ctypes.CDLL('libcudart.so.13')\n"
            "def allocate():\n"
            "    block = ctypes.c_void_p()\n"
            "    assert runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(4321)) == 0\n"
            "allocate()\n")
        run = Recording(["python3", "-c", script])
        self.assertEqual(run.code, 0, run.err)
        (event,) = named(run.file)
        self.assertEqual((event["name"], event["size_bytes"]), ("cudaMalloc", 4321))
        (site,) = run.report()["sites"]
        lines = [(frame["function"], frame["line"]) for frame in site["stack"] if frame["kind"] == "python"]
        self.assertEqual(lines, [("allocate", 5), ("<module>", 6)])


class Reporters(unittest.TestCase):
    def test_pytorchs_blocks_are_recorded_by_both_manglings_and_only_those_of_gpus(self):
        run = Recording([program("reporters")])
        self.assertEqual(run.out, "8\n", "every call reaches the real function: " + run.err)
        events = [(event["kind"], event["layer"], event["device"], event["size_bytes"], event["allocated_bytes"],
                   event["reserved_bytes"]) for event in run.records("event")]
        self.assertEqual(events, [
            (ALLOC, 2, 3, 512, 512, 2048),
            (ALLOC, 2, 3, 1024, 1536, 2048),
            (FREE, 2, 3, 512, 1024, 2048),
            (FREE, 2, 3, 1024, 0, 2048),
            (ALLOC_FAILED, 2, 3, 1 << 40, 0, 2048),
            (ALLOC_FAILED, 2, 3, 1 << 41, 0, 2048),
        ])


class Absence(unittest.TestCase):
    def probe(self, options=None, libraries=None):
        run = Recording([program("probe")], options, libraries=libraries)
        self.assertEqual(run.code, 0, run.err)
        return [line.split() for line in run.out.splitlines()]

    def test_without_a_driver_no_name_of_ours_is_found_at_run_time(self):
        rows = self.probe()
        self.assertGreater(len(rows), 30)
        for _, default, handle, name in rows:
            self.assertEqual((default, handle), ("0", "0"), name)

    def test_weak_references_are_the_exception_and_exports_off_removes_it(self):
        self.assertIn("1", {row[0] for row in self.probe()})
        for weak, default, handle, name in self.probe({"exports": "off"}):
            if not name.startswith("_ZN3c10"):
                self.assertEqual((weak, default, handle), ("0", "0", "0"), name)

    def test_with_exports_off_what_is_found_at_run_time_is_still_recorded(self):
        for command in (["snippets-static"], ["snippets", "dlsym", "cuMemAlloc_v2"],
                        ["snippets", "proc_address", "cuMemAlloc_v2"]):
            run = Recording([program(command[0]), *command[1:]], {"exports": "off"})
            self.assertEqual(run.code, 0, run.err)
            self.assertEqual(len(named(run.file)), len(run.out.splitlines()))


if __name__ == "__main__":
    tap.main()
