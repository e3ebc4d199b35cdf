# SPDX-License-Identifier: MIT
"""A call of each hooked function is one exact event, whichever way the program reaches the function."""

import collections
import functools
import os
import subprocess
import sys
import unittest

import tap
from definitions import HOST_SPACES, LAYER_OF_SPACE, Kind, Space
from recorded_run import BUILD, SIMCUDA, SOURCE, RecordedRun, built, records

sys.path.append(os.path.join(SOURCE, "scripts"))
import cuda_functions

WITHOUT_DEVICE = ("free", "free_failed", "unmap")  # the block knows

# The runtime of CUDA 12 gives the newest form of a name that this version has.
RUNTIME12 = 12090


@functools.lru_cache(maxsize=None)
def hooks():
    """Returns (library, symbol, base, since, mode) of each row of hooks.def that is a function of CUDA."""
    return [(row.library, row.symbol, row.base, row.since, row.mode) for row in cuda_functions.wrapped_rows()]


# Each object takes device memory, so that a wrong measured size is found. The driver has the newest row.
MACHINE = {
    "SIMCUDA_DEVICES": "2",
    "SIMCUDA_DRIVER_VERSION": str(max(since for _, _, _, since, _ in hooks())),
    "SIMCUDA_CONTEXT_MEMORY": "50M",
    "SIMCUDA_MODULE_MEMORY": "3M",
    "SIMCUDA_LIMIT_MEMORY": "1",
}


def symbols(*libraries):
    return {symbol for library, symbol, *_ in hooks() if library in libraries}


def newest(version):
    """Returns the symbols of the driver that are the newest form of their name in that version."""
    best = {}
    for library, symbol, base, since, mode in hooks():
        if library == "CUDA" and since <= version and since >= best.get((base, mode), (0, ""))[0]:
            best[base, mode] = since, symbol
    return {symbol for _, symbol in best.values()}


def named(path, rows):
    """Returns the events with the names of their functions."""
    names = {row["id"]: row["name"] for row in records(path, "api")}
    return [{**row, "name": names[row["api"]]} for row in rows]


def without_recorder(command):
    done = subprocess.run(
        command,
        env={**os.environ, **MACHINE, "LD_LIBRARY_PATH": SIMCUDA},
        cwd=os.path.dirname(BUILD),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


EVENT_COLUMNS = ("name", "kind", "layer", "space", "device", "size_bytes", "address", "object", "stream")
# A failure shows the names of the columns.
Event = collections.namedtuple("Event", EVENT_COLUMNS)


def expected_event(words):
    """Parses the program's line about an event. Returns an Event."""
    name, kind, space, device, size, address, other, stream = words
    number = Space.numbers[space]
    # An event of unbinding has a device.
    is_unknown = kind in WITHOUT_DEVICE and space != "multicast"
    place = -1 if number in HOST_SPACES else -2 if is_unknown else int(device)
    return Event(
        name,
        Kind.numbers[kind],
        LAYER_OF_SPACE[number],
        number,
        place,
        int(size),
        int(address),
        int(other),
        int(stream),
    )


def recorded_event(row):
    return Event(*(row[name] for name in EVENT_COLUMNS))


class Snippets(unittest.TestCase):
    """The program calls each function once in one process, with all other calls that this needs. The file has exactly
    the events that the program expects."""

    def check_events(self, run):
        self.assertEqual(run.code, 0, run.err)
        expected = [expected_event(line.split()[1:]) for line in run.out.splitlines() if line.startswith("event ")]
        rows = named(run.file, run.records("event"))
        recorded = [recorded_event(row) for row in rows]
        for place, (mine, seen) in enumerate(zip(expected, recorded)):
            if mine != seen:
                before = recorded[max(0, place - 2) : place]
                self.fail(f"event {place}:\nSAW says      {mine}\nthe file says {seen}\nafter {before}")
        self.assertEqual(len(recorded), len(expected), recorded[len(expected) :] or expected[len(recorded) :])
        for row in rows:
            if row["kind"] == Kind.ALLOC:
                self.assertNotEqual(row["stack"], 0, row)
                self.assertNotEqual(row["context"], 0, row)

    def check_accounting(self, run):
        """Checks that nothing is live at the end, and that each free has its allocation."""
        result = run.report()
        self.assertTrue(result["complete"])
        layers = [layer for device in result["devices"] for layer in device["layers"]]
        self.assertEqual(
            [layer for layer in [*layers, result["host"]] if layer["live_bytes"] or layer["live_blocks"]], []
        )
        wrong = {name: count for name, count in result["anomalies"].items() if count}
        # The program frees some blocks a second time.
        self.assertEqual(wrong.pop("refused_frees", 0), run.out.count(" free_failed "))
        self.assertEqual(wrong, {})

    def check_route(self, route, expected, executable="snippets"):
        command = [built(executable), route]
        run = RecordedRun(command, environment=MACHINE)
        self.check_events(run)
        self.check_accounting(run)
        nowhere = {line.split()[1] for line in run.out.splitlines() if line.startswith("none ")}
        self.assertEqual(nowhere, symbols("CUDA", "CUDART") - expected)
        # Results, errno and the runtime's last error are the same as without the recorder.
        plain = [line for line in without_recorder(command) if not line.startswith("event ")]
        self.assertEqual([line for line in run.out.splitlines() if not line.startswith("event ")], plain)

    def test_each_hook_is_one_exact_event_when_bound_by_the_linker(self):
        self.check_route("export", symbols("CUDA", "CUDART"))

    def test_each_hook_is_one_exact_event_when_found_by_dlsym(self):
        self.check_route("dlsym", symbols("CUDA", "CUDART"))

    def test_each_hook_is_one_exact_event_when_found_in_the_program_handle(self):
        self.check_route("handle", symbols("CUDA", "CUDART"))

    def test_each_hook_is_one_exact_event_when_found_in_the_global_scope(self):
        self.check_route("default", symbols("CUDA", "CUDART"))

    def test_each_versioned_hook_is_one_exact_event_when_found_by_dlvsym(self):
        self.check_route("dlvsym", symbols("CUDART"))

    def test_each_driver_hook_is_one_exact_event_when_found_by_cuGetProcAddress(self):
        self.check_route("proc_address", symbols("CUDA"))

    def test_each_driver_hook_is_one_exact_event_when_found_by_cuGetProcAddress_v2(self):
        self.check_route("proc_address_v2", symbols("CUDA"))

    def test_each_driver_hook_is_one_exact_event_when_found_by_the_runtimes_entry_point(self):
        self.check_route("entry_point", symbols("CUDA"))

    def test_each_newest_driver_hook_is_one_exact_event_when_found_by_the_entry_point_of_CUDA_12(self):
        self.check_route("entry_point12", newest(RUNTIME12))

    def test_each_runtime_function_is_one_exact_event_of_the_driver_in_a_program_with_a_static_runtime(self):
        run = RecordedRun([built("snippets-static"), "export"], environment=MACHINE)
        self.check_events(run)
        self.check_accounting(run)
        self.assertEqual(run.out.count("last "), len(symbols("CUDART")))

    def test_each_hook_alone_in_a_process_is_recorded_too(self):
        # Each call works alone: it does not need what the recorder learned from earlier calls.
        for symbol in (
            "cuMemFree_v2",
            "cuMemCreate",
            "cuStreamBeginCapture_v2_ptsz",
            "cuCtxCreate_v4",
            "cudaMalloc3D",
            "cuGraphLaunch",
            "cuMemPoolImportPointer",
            "cudaDeviceReset",
        ):
            with self.subTest(symbol):
                run = RecordedRun(
                    [
                        built("snippets"),
                        "proc_address_v2" if symbol.startswith("cu") and not symbol.startswith("cuda") else "export",
                        symbol,
                    ],
                    environment=MACHINE,
                )
                self.check_events(run)
                self.check_accounting(run)


class Routes(unittest.TestCase):
    def check_plain(self, route):
        """Checks one route; tests/gpu does so on real devices, whose contexts have other events."""
        run = RecordedRun([built("plain"), route])
        self.assertEqual(run.code, 0, run.err)
        expected = [expected_event(line.split()[1:]) for line in run.out.splitlines()]
        self.assertGreater(len(expected), 20)
        self.assertEqual([recorded_event(row) for row in named(run.file, run.events())], expected)

    def test_plain_memory_is_one_exact_event_when_bound_by_the_linker(self):
        self.check_plain("export")

    def test_plain_memory_is_one_exact_event_when_found_by_dlsym(self):
        self.check_plain("dlsym")

    def test_plain_memory_is_one_exact_event_when_found_by_cuGetProcAddress(self):
        self.check_plain("proc_address")

    def test_two_runtimes_in_one_process_each_get_their_own_calls(self):
        for order in (["12", "13"], ["13", "12"], ["12", "13", "12"]):
            plugins = [built(f"libplugin{major}.so") for major in order]
            run = RecordedRun([built("two-runtimes"), *plugins])
            self.assertEqual(run.out.split(), order, run.err)
            sizes = [event["size_bytes"] // 1000 for event in run.events() if event["kind"] == Kind.ALLOC]
            self.assertEqual([str(size) for size in sizes], order)

    def test_a_runtime_at_the_address_of_an_unloaded_one_gets_its_own_calls(self):
        order = ["12", "13", "12", "13"]
        run = RecordedRun([built("two-runtimes"), "close", *(built(f"libplugin{major}.so") for major in order)])
        self.assertEqual(run.out.split(), order, run.err)

    def test_a_runtime_call_is_one_event_under_its_own_name(self):
        run = RecordedRun([built("busy-threads"), "1", "50"])
        self.assertEqual({event["name"] for event in named(run.file, run.events())}, {"cudaMalloc", "cudaFree"})

    def test_ctypes_users_are_recorded_with_their_python_stack(self):
        script = (
            "import ctypes\n"
            "runtime = ctypes.CDLL('libcudart.so.13')\n"
            "def allocate():\n"
            "    block = ctypes.c_void_p()\n"
            "    assert runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(4321)) == 0\n"
            "allocate()\n"
        )
        run = RecordedRun(["python3", "-c", script])
        self.assertEqual(run.code, 0, run.err)
        (event,) = named(run.file, run.events())
        self.assertEqual((event["name"], event["size_bytes"]), ("cudaMalloc", 4321))
        (site,) = (site for site in run.report()["sites"] if site["layer"] == "cuda")
        lines = [(frame["function"], frame["line"]) for frame in site["stack"] if frame["kind"] == "python"]
        self.assertEqual(lines, [("allocate", 5), ("<module>", 6)])

    def test_ctypes_users_of_the_driver_are_recorded_too(self):
        script = (
            "import ctypes\n"
            "driver = ctypes.CDLL('libcuda.so.1')\n"
            "context, block, host = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()\n"
            "assert not driver.cuInit(0) and not driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
            "assert not driver.cuCtxSetCurrent(context)\n"
            "assert not driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(4322))\n"
            "assert not driver.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(4323), 0)\n"
            "assert not driver.cuMemFree_v2(block) and not driver.cuMemFreeHost(host)\n"
            "assert driver.cuMemFree_v2(block) == 1\n"
        )
        run = RecordedRun(["python3", "-c", script])
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(
            [(event["name"], event["kind"], event["size_bytes"]) for event in named(run.file, run.events())],
            [
                ("cuMemAlloc_v2", Kind.ALLOC, 4322),
                ("cuMemHostAlloc", Kind.ALLOC, 4323),
                ("cuMemFree_v2", Kind.FREE, 0),
                ("cuMemFreeHost", Kind.FREE, 0),
                ("cuMemFree_v2", Kind.FREE_FAILED, 0),
            ],
        )


class Reporters(unittest.TestCase):
    def test_pytorchs_blocks_are_recorded_by_both_manglings_and_only_those_of_gpus(self):
        run = RecordedRun([built("reporters")])
        self.assertEqual(run.out, "8\n", "every call reaches the real function: " + run.err)
        seen = [
            (
                event["kind"],
                event["layer"],
                event["device"],
                event["size_bytes"],
                event["allocated_bytes"],
                event["reserved_bytes"],
            )
            for event in run.records("event")
        ]
        self.assertEqual(
            seen,
            [
                (Kind.ALLOC, 2, 3, 512, 512, 2048),
                (Kind.ALLOC, 2, 3, 1024, 1536, 2048),
                (Kind.FREE, 2, 3, 512, 1024, 2048),
                (Kind.FREE, 2, 3, 1024, 0, 2048),
                (Kind.ALLOC_FAILED, 2, 3, 1 << 40, 0, 2048),
                (Kind.ALLOC_FAILED, 2, 3, 1 << 41, 0, 2048),
            ],
        )


class Absence(unittest.TestCase):
    def probe(self, options=None, libraries=None):
        run = RecordedRun([built("probe")], options, libraries=libraries)
        self.assertEqual(run.code, 0, run.err)
        return [line.split() for line in run.out.splitlines()]

    def test_without_a_driver_no_hook_is_found_at_run_time(self):
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
        for route in ("dlsym", "proc_address", "entry_point"):
            run = RecordedRun([built("snippets"), route, "cuMemAlloc_v2"], {"exports": "off"})
            self.assertEqual(run.code, 0, run.err)
            self.assertEqual([event["size_bytes"] for event in run.events()], [1000, 0])


if __name__ == "__main__":
    tap.main()
