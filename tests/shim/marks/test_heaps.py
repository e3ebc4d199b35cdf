# SPDX-License-Identifier: MIT
"""Pools that a program declares in C, in Python or by NVTX are custom heaps of the recording, next to CUDA memory."""

import os
import sys
import unittest

import tap
from definitions import Kind
from recorded_run import CUDA, CUSTOM, RecordedRun, built, cli, events, report
from test_marks import ALLOCATE, PYTHON_MODULE, marks_of

TOOL = built("libnvtx-memory-tool.so")
KINDS = {1: "alloc", 2: "free", 5: "create", 6: "destroy", 19: "reset", 20: "resize"}
NVTX = 2
HEAP, HEAP_HOST = 21, 22
OF_HEADERS = "nvtx-memory-headers"
PROGRAMS_OF_NVTX = ["nvtx-memory"] + [OF_HEADERS] * os.path.exists(built(OF_HEADERS))


def run_program(*words, program="heaps", options=None, **more):
    return RecordedRun([built(program), *words], {"stacks": "none", **(options or {})}, **more)


def run_python(*lines, options=None, **more):
    script = "\n".join([ALLOCATE, "import gpumemtrace", *lines])
    return RecordedRun(
        [sys.executable, "-c", script], options or {"stacks": "none"}, {"PYTHONPATH": PYTHON_MODULE}, **more
    )


def events_of_heaps(path):
    """Returns the recorded events of heaps: kind, heap, offset in the memory, size."""
    base = min((row["address"] for row in events(path, CUDA) if row["kind"] == Kind.ALLOC), default=0)
    return [
        (KINDS[row["kind"]], row["object"], max(row["address"] - base, 0), row["size_bytes"])
        for row in events(path, CUSTOM)
    ]


def heaps_of(path):
    return {row["name"]: row for row in report(path)["heaps"]}


def values_of(row, *keys):
    return [row[key] for key in keys]


class Heaps(unittest.TestCase):
    def check(self, run, *expected):
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assertEqual(events_of_heaps(run.file), list(expected))

    def test_a_heap_and_its_blocks_are_recorded_with_name_stream_and_device(self):
        run = run_program("alloc:5000", "heap:arena:5000", "get:0:1000", "get:1000:64", "give:0", "end")
        self.check(
            run,
            ("create", 1, 0, 5000),
            ("alloc", 1, 0, 1000),
            ("alloc", 1, 1000, 64),
            ("free", 1, 0, 0),
            ("destroy", 1, 0, 0),
        )
        self.assertEqual({(row["device"], row["space"]) for row in run.events(CUSTOM)}, {(0, HEAP)})
        self.assertEqual([row["stream"] for row in run.events(CUSTOM)], [0, 7, 7, 0, 0])
        self.assertEqual([(text, row["object"]) for text, row in marks_of(run.file)], [("heap arena", 1)])

    def test_the_report_has_each_heap_next_to_the_memory_of_cuda(self):
        run = run_program(
            "alloc:5000", "heap:arena:5000", "get:0:1000", "get:1000:64", "give:0", "heap:inner:500", "get:0:100"
        )
        heaps = heaps_of(run.file)
        self.assertEqual(
            {
                name: values_of(row, "size_bytes", "live_bytes", "free_bytes", "peak_bytes", "live_blocks")
                for name, row in heaps.items()
            },
            {"arena": [5000, 64, 4936, 1064, 1], "inner": [500, 100, 400, 100, 1]},
        )
        self.assertEqual(run.totals("cuda")["peak_bytes"], 5000)
        self.assertEqual(run.totals("custom")["live_bytes"], 164)
        self.assertEqual({key: value for key, value in run.report()["anomalies"].items() if value}, {})

    def test_each_heap_has_its_device_and_host_memory_has_none(self):
        run = run_program(
            "device:1",
            "alloc:5000",
            "device:0",
            "heap:second:5000",
            "get:0:10",
            "pinned:5000",
            "heap:pinned:5000",
            "get:0:20",
            "malloc:5000",
            "heap:malloc:5000",
            "get:0:30",
            "device:1",
            "alloc:100",
            "device:0",
            "unplaced:first block tells:0",
            "get:0:40",
            environment={"SIMCUDA_DEVICES": "2"},
        )
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assertEqual(
            {name: values_of(row, "device", "live_bytes", "size_bytes") for name, row in heaps_of(run.file).items()},
            {
                "second": [1, 10, 5000],
                "pinned": [None, 20, 5000],
                "malloc": [None, 30, 5000],
                "first block tells": [1, 40, None],
            },
        )
        self.assertEqual(
            [row["space"] for row in run.events(CUSTOM) if row["kind"] == Kind.ALLOC],
            [HEAP, HEAP_HOST, HEAP_HOST, HEAP],
        )

    def test_a_heap_from_before_the_recording_is_in_it(self):
        run = run_program(
            "malloc:5000", "heap:early:4000", "get:0:10", "resize:5000", "alloc:100", "in:0", "get:64:20", "give:64"
        )
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assertEqual([(row["kind"], row["size_bytes"]) for row in run.events(CUSTOM)], [(5, 5000), (1, 20), (2, 0)])
        self.assertEqual(heaps_of(run.file)["early"]["size_bytes"], 5000)
        self.assertEqual(
            os.listdir(run_program("malloc:5000", "heap:alone:4000", "get:0:10", "give:0", "end").folder), []
        )

    def test_blocks_end_with_the_reset_or_end_of_their_heap(self):
        run = run_program(
            "alloc:9000",
            "heap:a:1000",
            "get:0:100",
            "get:100:100",
            "reset",
            "get:0:7",
            "resize:9000",
            "heap:b:9000",
            "get:0:50",
            "end",
        )
        heaps = heaps_of(run.file)
        self.assertEqual(
            values_of(heaps["a"], "live_bytes", "peak_bytes", "swept_blocks", "size_bytes", "free_bytes"),
            [7, 200, 2, 9000, 8993],
        )
        self.assertEqual(
            values_of(heaps["b"], "live_bytes", "live_heaps", "heaps", "swept_bytes", "size_bytes"), [0, 0, 1, 50, None]
        )
        self.assertEqual(run.totals("custom")["live_bytes"], 7)

    def test_arenas_of_one_name_that_come_and_go_are_one_row(self):
        run = run_program("alloc:9000", *["heap:step:1000", "get:0:100", "end"] * 2000, "heap:step:1000")
        heap = heaps_of(run.file)["step"]
        self.assertEqual(
            values_of(heap, "heaps", "live_heaps", "peak_bytes", "max_size_bytes", "alloc_count"),
            [2001, 1, 100, 1000, 2000],
        )
        self.assertEqual(len({row["object"] for row in run.events(CUSTOM)}), 2001)

    def test_too_many_heaps_are_reported_and_cause_no_error(self):
        run = run_program("alloc:9000", "many:1030", "get:0:100", "give:0", "reset", "end", "in:5", "get:0:8")
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual(heaps_of(run.file)["one of many"]["heaps"], 1024)
        self.assertEqual(run.totals("custom")["total_alloc_bytes"], 8)
        self.assertIn("more heaps at the same time", " ".join(run.report()["notes"]))

    def test_threads_use_one_heap_and_every_block_is_counted(self):
        run = run_program("alloc:640000", "heap:shared:640000", "threads:8")
        heap = heaps_of(run.file)["shared"]
        self.assertEqual(values_of(heap, "alloc_count", "free_count", "live_bytes"), [8000, 7200, 800 * 64])
        self.assertEqual({key: value for key, value in run.report()["anomalies"].items() if value}, {})
        self.assertEqual(len(marks_of(run.file)), 1)

    def test_without_the_recorder_the_same_program_runs_and_nothing_happens(self):
        run = run_program(
            "alloc:5000", "heap:arena:5000", "get:0:1000", "give:0", "resize:7", "reset", "end", preload=""
        )
        self.assertEqual((run.code, run.out, run.err, os.listdir(run.folder)), (0, "", "", []))

    def test_a_capture_stays_valid_while_a_heap_is_used(self):
        run = run_program(
            "alloc:5000", "capture", "heap:arena:5000", "get:0:1000", "unplaced:other:0", "get:8:8", "uncapture"
        )
        self.assertEqual((run.code, run.out, run.err), (0, "captured\n", ""))
        self.assertEqual({row["device"] for row in heaps_of(run.file).values()}, {0})

    def test_the_recording_of_a_forked_child_has_the_heaps_of_its_parent(self):
        run = run_program("malloc:5000", "heap:arena:5000", "get:0:10", "fork", "alloc:100", "in:0", "get:64:20")
        self.assertEqual(heaps_of(run.file)["arena"]["live_bytes"], 20)
        run = run_python(
            "import os",
            "allocate(); heap = gpumemtrace.Heap('both', 0, 500)",
            "heap.suballoc(64, 1)",
            "if os.fork() == 0:",
            # CUDA does not work in the child, but the child still begins a recording.
            "    try: allocate()",
            "    except AssertionError: pass",
            "    heap.suballoc(128, 2)",
            "else: os.wait()",
        )
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(
            sorted((heaps_of(path)["both"]["live_bytes"], heaps_of(path)["both"]["size_bytes"]) for path in run.files),
            [(1, 500), (2, 500)],
        )

    def test_unfreed_blocks_are_growth_and_fail_check(self):
        steps = [word for step in range(12) for word in (f"get:{step * 64}:64", "get:8000:10", "give:8000", "step")]
        run = run_program("alloc:9000", "heap:arena:9000", *steps, options={"stacks": "native"})
        (leak,) = [row for row in run.report()["leaks"] if row["layer"] == "custom"]
        self.assertEqual((leak["definition"], leak["heap"], round(leak["bytes_per_step"])), ("growth", "arena", 64))
        self.assertEqual(leak["stack"][leak["own_frame"]]["function"], "take")
        said = cli("check", run.file)
        self.assertEqual(said.returncode, 1, said.stderr)
        self.assertIn("custom", said.stdout)
        self.assertEqual(
            cli(
                "check", "--max-peak", "custom=800B", "--max-leaked", "1GiB", "--max-growth", "1KiB/step", run.file
            ).returncode,
            0,
        )
        self.assertEqual(
            cli(
                "check", "--max-peak", "custom=700B", "--max-leaked", "1GiB", "--max-growth", "1KiB/step", run.file
            ).returncode,
            1,
        )

    def test_names_are_cut_between_characters_and_may_be_absent(self):
        run = run_program("alloc:100", "heap:" + "ä" * 200 + ":7", "get:0:1", "heap::7", "get:0:1")
        self.assertEqual(set(heaps_of(run.file)), {"ä" * 127, None})


class Example(unittest.TestCase):
    """docs/examples/pool.c, which docs/pools.md shows."""

    def test_the_page_shows_the_compiled_program(self):
        docs = os.path.join(os.path.dirname(PYTHON_MODULE), "docs")
        with (
            open(os.path.join(docs, "pools.md"), encoding="utf-8") as page,
            open(os.path.join(docs, "examples", "pool.c"), encoding="utf-8") as example,
        ):
            shown = page.read().split("```c\n")[1].split("```")[0]
            self.assertIn("/* page: begin */\n" + shown + "/* page: end */", example.read())

    def test_the_report_says_which_request_forgets_its_cache(self):
        run = run_program(program="pool-example", options={"stacks": "native"})
        self.assertEqual((run.code, run.out, run.err), (0, "48 requests\n", ""))
        heaps = heaps_of(run.file)
        self.assertEqual(
            values_of(heaps["caches"], "size_bytes", "live_blocks", "live_bytes", "live_heaps"),
            [64 << 20, 24, 24 * 700000, 1],
        )
        self.assertEqual(
            values_of(heaps["scratch"], "size_bytes", "live_blocks", "peak_bytes", "live_heaps"), [None, 0, 300000, 0]
        )
        text = cli("report", "--full", run.file).stdout
        self.assertIn("The program's own heaps", text)
        self.assertRegex(text, r"64\.0 MiB +16\.0 MiB +48\.0 MiB +24 +16\.0 MiB .* caches, GPU 0\n")
        self.assertRegex(text, r"pool_take \(.*pool\.c:\d+\) < serve \(.*\) < main")
        (leak,) = [row for row in run.report()["leaks"] if row["definition"] == "growth"]
        self.assertEqual(
            (leak["layer"], leak["heap"], leak["blocks"], leak["steps_to_oom"]), ("custom", "caches", 24, None)
        )
        self.assertIn("not returned", leak["hint"])


class PythonModule(unittest.TestCase):
    def test_a_heap_of_python_has_the_programs_own_lines(self):
        run = run_python(
            "block = ctypes.c_void_p()",
            "assert runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(1000)) == 0",
            "def use(heap):",
            "    heap.suballoc(block.value + 8, 100, stream=3)",
            "with gpumemtrace.Heap('pool', block.value, 1000) as heap:",
            "    use(heap); use(heap)",
            "    heap.resize(2000); heap.subfree(block.value + 8); heap.reset()",
            "    heap.suballoc(0, 5)",
            options={"stacks": "python"},
        )
        self.assertEqual((run.code, run.err), (0, ""))
        heap = heaps_of(run.file)["pool"]
        self.assertEqual(
            values_of(heap, "device", "alloc_count", "free_count", "max_size_bytes", "live_bytes"), [0, 2, 1, 2000, 0]
        )
        (site,) = heap["sites"]
        self.assertEqual(site["stack"][site["own_frame"]]["function"], "use")
        self.assertEqual({row["stream"] for row in run.events(CUSTOM) if row["kind"] == Kind.ALLOC}, {3})

    def test_without_the_recorder_it_does_nothing(self):
        run = run_python(
            "with gpumemtrace.Heap('pool') as heap:",
            "    heap.suballoc(1 << 40, 100); heap.subfree(1 << 40); heap.resize(1); heap.reset()",
            "print('done')",
            preload="",
        )
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))


class NvtxMemory(unittest.TestCase):
    WORDS = [
        "alloc",
        "heap:pool:65536",
        "register:0:256:3",
        "handles:1024:64:2",
        "resize:256:512",
        "unregister:512",
        "drop:0",
    ]

    def test_heaps_and_regions_are_recorded_and_handles_are_addresses(self):
        for program in PROGRAMS_OF_NVTX:
            with self.subTest(program=program):
                run = run_program(*self.WORDS, program=program)
                self.assertEqual((run.code, run.err), (0, ""))
                self.assertEqual(run.out.splitlines(), ["heap at 0", "handle at 1024", "handle at 1088"])
                heap = heaps_of(run.file)["our domain: pool"]
                self.assertEqual(
                    values_of(heap, "source", "device", "size_bytes", "live_bytes", "live_blocks", "peak_bytes"),
                    ["nvtx", 0, 65536, 256 + 512 + 64, 3, 3 * 256 + 128 + 256],
                )
                self.assertEqual({key: value for key, value in run.report()["anomalies"].items() if value}, {})

    def test_all_regions_of_one_call_are_recorded_with_one_stack(self):
        run = run_program(
            "alloc", "heap:pool:65536", "register:0:64:50", program=PROGRAMS_OF_NVTX[-1], options={"stacks": "native"}
        )
        blocks = [row for row in run.events(CUSTOM) if row["kind"] == Kind.ALLOC]
        self.assertEqual(len({row["address"] for row in blocks}), 50)
        (site,) = heaps_of(run.file)["our domain: pool"]["sites"]
        self.assertEqual(site["stack"][site["own_frame"]]["function"], "register_regions")

    def test_a_reset_or_unregistered_heap_has_no_regions(self):
        for program in PROGRAMS_OF_NVTX:
            run = run_program(
                "alloc", "wheap:grün:65536", "register:0:64:5", "reset", "register:0:64:2", "end", program=program
            )
            heap = heaps_of(run.file)["our domain: grün"]
            self.assertEqual(values_of(heap, "live_heaps", "live_bytes", "swept_blocks", "peak_bytes"), [0, 0, 7, 320])

    def test_regions_without_a_heap_or_of_unknown_versions_are_ignored(self):
        for program in PROGRAMS_OF_NVTX:
            run = run_program(
                "alloc",
                "heap:pool:65536",
                "process:0:8",
                "unregister:0",
                "array:64:8",
                "later:128:8",
                "permissions",
                program=program,
            )
            self.assertEqual((run.code, run.err, run.out.splitlines()[1]), (0, "", "permissions (nil)"))
            self.assertEqual(heaps_of(run.file)["our domain: pool"]["alloc_count"], 0)
            self.assertEqual({key: value for key, value in run.report()["anomalies"].items() if value}, {})

    def test_without_the_recorder_or_with_nvtx_off_no_call_is_answered(self):
        for program in PROGRAMS_OF_NVTX:
            for more in ({"preload": ""}, {"options": {"nvtx": "off"}}):
                run = run_program("alloc", "heap:pool:65536", "register:0:64", "permissions", program=program, **more)
                self.assertEqual((run.code, run.out, run.err), (0, "heap at -1\npermissions (nil)\n", ""))

    def test_another_tool_gets_all_calls_and_its_results_reach_the_program(self):
        words = self.WORDS + ["handles:4096:32:1", "drop:2", "permissions", "reset", "end"]
        for program in PROGRAMS_OF_NVTX:
            with self.subTest(program=program):
                alone = run_program(*words, program=program, environment={"NVTX_INJECTION64_PATH": TOOL}, preload="")
                both = run_program(*words, program=program, environment={"NVTX_INJECTION64_PATH": TOOL})
                self.assertIn("tool: register 3", alone.out)
                self.assertEqual((both.code, both.out, both.err), (0, alone.out, ""))
                heap = heaps_of(both.file)["our domain: pool"]
                self.assertEqual(values_of(heap, "alloc_count", "free_count", "swept_blocks"), [7, 7, 3])

    def test_a_tool_without_extensions_leaves_them_to_the_recorder(self):
        for program in PROGRAMS_OF_NVTX:
            run = run_program(
                "alloc",
                "heap:pool:65536",
                "register:0:64",
                program=program,
                environment={"NVTX_INJECTION64_PATH": built("libgetenv-behind.so")},
            )
            self.assertEqual(heaps_of(run.file)["our domain: pool"]["live_bytes"], 64)


if __name__ == "__main__":
    tap.main()
