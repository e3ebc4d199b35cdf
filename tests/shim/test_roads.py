# SPDX-License-Identifier: MIT
"""One use of CUDA by every road that leads to it: one exact event for each call, and the host as without us."""
import glob
import os
import subprocess
import unittest

import tap
from snapshots import SHIM, SIMCUDA, Recording, records

PROGRAMS = os.path.join(os.environ["GMT_TEST_PROGRAMS"], "roads")
ALLOC, FREE = 1, 2
DEVICE = 1
DRIVER_NAMES = ("cuMemAlloc_v2", "cuMemFree_v2")
RUNTIME_NAMES = ("cudaMalloc", "cudaFree")
ROADS_AT_RUN_TIME = ("dlsym", "global", "proc_address", "dlvsym")


def program(name):
    return os.path.join(PROGRAMS, name)


def system_library(name):
    """The path of a library that a package installs, or None."""
    found = glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/*/*/{name}")
    return found[0] if found else None


def without(command, preload=None, libraries=SIMCUDA, **more):
    """What the same command says without the recorder."""
    variables = {**os.environ, "LD_LIBRARY_PATH": libraries or "", **more}
    before = ["env", f"LD_PRELOAD={preload}"] if preload else []
    return subprocess.run([*before, *command], env=variables, capture_output=True, text=True, timeout=120)


class Roads(unittest.TestCase):
    def check(self, run, names):
        """The recording has exactly the calls that the program printed."""
        self.assertEqual(run.code, 0, run.err + run.out)
        lines = [line.split() for line in run.out.splitlines() if line.split()[0] in ("alloc", "free")]
        self.assertTrue(lines, "the program allocated nothing")
        path = run.file
        api = {row["id"]: row["name"] for row in records(path, "api")}
        events = [event for event in records(path, "event") if event["kind"] in (ALLOC, FREE)]
        self.assertEqual(len(events), len(lines), "one event for each call")
        for event, line in zip(events, lines):
            self.assertEqual(event["address"], int(line[-1]))
            if line[0] == "alloc":
                self.assertEqual((event["kind"], event["space"], event["device"], event["size_bytes"]),
                                 (ALLOC, DEVICE, 0, int(line[1])))
                self.assertIn(api[event["api"]], names)
            else:
                self.assertEqual(event["kind"], FREE)
        self.assertEqual(sum(site["live_bytes"] for site in run.report()["sites"]), 0)

    def test_a_linked_program_is_recorded_however_it_was_built(self):
        for way, names in (("driver", DRIVER_NAMES), ("runtime", RUNTIME_NAMES), ("static", DRIVER_NAMES)):
            for position in ("pie", "fixed"):
                for binding in ("now", "lazy"):
                    for dynsym in ("on", "off"):
                        with self.subTest((way, position, binding, dynsym)):
                            command = [program("-".join(["road", way, position, binding]))]
                            self.check(Recording(command, {"dynsym": dynsym}), names)

    def test_look_ups_at_run_time_are_recorded_by_each_way_to_look(self):
        for road in ROADS_AT_RUN_TIME:
            names = RUNTIME_NAMES if road == "dlvsym" else DRIVER_NAMES
            for position in ("pie", "fixed"):
                for dynsym in ("on", "off"):
                    with self.subTest((road, position, dynsym)):
                        command = [program(f"road-look-{position}-now"), road]
                        self.check(Recording(command, {"dynsym": dynsym}), names)

    def load(self, how, way, *arguments, **more):
        return Recording([program("loader"), how, program(f"libroad-{way}.so"), "road_use", *arguments], **more)

    def test_a_library_is_recorded_however_it_was_opened(self):
        for how in ("local", "global", "again"):
            for way, names in (("driver-now", DRIVER_NAMES), ("driver-lazy", DRIVER_NAMES),
                               ("runtime-now", RUNTIME_NAMES), ("runtime-lazy", RUNTIME_NAMES),
                               ("static-now", DRIVER_NAMES)):
                with self.subTest((how, way)):
                    self.check(self.load(how, way), names)
            for road in ROADS_AT_RUN_TIME:
                with self.subTest((how, road)):
                    self.check(self.load(how, "look-now", road),
                               RUNTIME_NAMES if road == "dlvsym" else DRIVER_NAMES)

    def test_a_library_that_looks_in_itself_first_is_recorded_at_the_driver(self):
        """RTLD_DEEPBIND: its dlsym is libc's, its cudaMalloc the runtime's, its runtime's dlsym libc's."""
        for how in ("deepbind", "lazy-deepbind"):
            for way in ("runtime-now", "runtime-lazy", "static-now", "static-lazy"):
                with self.subTest((how, way)):
                    self.check(self.load(how, way), DRIVER_NAMES)
            for road in ROADS_AT_RUN_TIME:
                with self.subTest((how, road)):
                    self.check(self.load(how, "look-lazy", road), DRIVER_NAMES + RUNTIME_NAMES)

    def test_a_library_that_looks_in_itself_first_and_was_linked_to_a_known_driver_is_recorded(self):
        for how in ("deepbind", "lazy-deepbind"):
            for binding in ("now", "lazy"):
                with self.subTest((how, binding)):
                    command = [program("loader-linked"), how, program(f"libroad-driver-{binding}.so"), "road_use"]
                    self.check(Recording(command), DRIVER_NAMES)

    def test_a_library_that_looks_in_itself_first_is_not_seen_with_dynsym_off(self):
        run = self.load("deepbind", "runtime-now", options={"dynsym": "off"})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.files, [])


class Probes(unittest.TestCase):
    def check_same(self, command, libraries, options=None):
        plain = without(command, libraries=libraries)
        run = Recording(command, options, libraries=libraries)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((run.out, run.err, run.code), (plain.stdout, plain.stderr, plain.returncode))
        return run

    def test_a_program_that_looks_for_cuda_gets_the_same_answers_without_a_driver(self):
        for dynsym in ("on", "off"):
            run = self.check_same([program("seek"), program("libseek.so")], None, {"dynsym": dynsym})
            self.assertIn("undefined symbol: cuInit,", run.out)
            self.assertIn("plugin", run.out)
            self.assertEqual(run.files, [])

    def test_a_program_that_looks_for_cuda_gets_the_same_answers_with_a_driver(self):
        for dynsym in ("on", "off"):
            run = self.check_same([program("seek"), program("libseek.so")], SIMCUDA, {"dynsym": dynsym})
            self.assertIn("program libcuda.so.1 'cuMemAlloc_v2': found", run.out)

    def test_python_that_looks_for_cuda_gets_the_same_answers_without_a_driver(self):
        script = (
            "import ctypes, ctypes.util\n"
            "def ask(what):\n"
            "    try:\n"
            "        print(type(what()).__name__)\n"
            "    except Exception as error:\n"
            "        print(type(error).__name__, error)\n"
            "names = ('cuInit', 'cuMemAlloc_v2', 'cudaMalloc', 'cuDeviceGetCount', 'cuNeverHeardOf')\n"
            "for kind in (ctypes.CDLL, ctypes.PyDLL):\n"
            "    for name in names:\n"
            "        ask(lambda: getattr(kind(None), name))\n"
            "    for library in ('libcuda.so.1', 'libcudart.so.13', 'libcuda.so'):\n"
            "        ask(lambda: kind(library))\n"
            "        ask(lambda: kind(library, mode=ctypes.RTLD_GLOBAL))\n"
            "print(ctypes.util.find_library('cuda'), ctypes.util.find_library('cudart'))\n"
            "try:\n"
            "    import cffi\n"
            "    maker = cffi.FFI()\n"
            "    maker.cdef('int cuInit(unsigned); int cudaMalloc(void **, size_t);')\n"
            "    ask(lambda: maker.dlopen(None).cuInit)\n"
            "    ask(lambda: maker.dlopen(None).cudaMalloc)\n"
            "    ask(lambda: maker.dlopen('libcuda.so.1'))\n"
            "except ImportError:\n"
            "    pass\n")
        run = self.check_same(["python3", "-c", script], None)
        self.assertIn("undefined symbol: cuInit", run.out)
        self.assertEqual(run.files, [])


if __name__ == "__main__":
    tap.main()
