# SPDX-License-Identifier: MIT
"""Programs reach CUDA in each possible way: each call is one exact event, and the program works as before."""

import glob
import os
import subprocess
import tempfile
import unittest

import tap
from definitions import Kind
from recorded_run import BUILD, CLI, SHIM, SIMCUDA, RecordedRun, built, records

AUDIT = os.path.join(BUILD, "preload", "libgpumemtrace-audit.so")
DEVICE = 1
DRIVER_NAMES = ("cuMemAlloc_v2", "cuMemFree_v2")
RUNTIME_NAMES = ("cudaMalloc", "cudaFree")
ROUTES_AT_RUN_TIME = ("dlsym", "global", "proc_address", "dlvsym")


def system_library(name):
    """Returns the path of a library that a package installs, or None."""
    found = glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/*/*/{name}")
    return found[0] if found else None


def blocks(path):
    """Returns the events of linear device memory, without the events of contexts."""
    return [event for event in records(path, "event") if event["space"] == DEVICE]


def run_without_recorder(command, preload=None, libraries=SIMCUDA, **more):
    """Runs the same command without the recorder."""
    variables = {**os.environ, "LD_LIBRARY_PATH": libraries or "", **more}
    before = ["env", f"LD_PRELOAD={preload}"] if preload else []
    return subprocess.run([*before, *command], env=variables, capture_output=True, text=True, timeout=120)


class Loading(unittest.TestCase):
    def check(self, run, names):
        """Checks that the recording has exactly the calls that the program printed."""
        self.assertEqual(run.code, 0, run.err + run.out)
        lines = [line.split() for line in run.out.splitlines() if line.split()[0] in ("alloc", "free")]
        self.assertTrue(lines, "the program allocated nothing")
        path = run.file
        api = {row["id"]: row["name"] for row in records(path, "api")}
        events = blocks(path)
        self.assertEqual(len(events), len(lines), "one event for each call")
        for event, line in zip(events, lines):
            self.assertEqual(event["address"], int(line[-1]))
            if line[0] == "alloc":
                self.assertEqual(
                    (event["kind"], event["space"], event["device"], event["size_bytes"]),
                    (Kind.ALLOC, DEVICE, 0, int(line[1])),
                )
                self.assertIn(api[event["api"]], names)
            else:
                self.assertEqual(event["kind"], Kind.FREE)
        self.assertEqual(sum(site["live_bytes"] for site in run.report()["sites"]), 0)

    def load(self, how, way, *arguments, **more):
        return RecordedRun([built("loader"), how, built(f"libroute-{way}.so"), "route_use", *arguments], **more)


class Routes(Loading):
    def test_a_linked_program_is_recorded_however_it_was_built(self):
        for way, names in (("driver", DRIVER_NAMES), ("runtime", RUNTIME_NAMES), ("static", DRIVER_NAMES)):
            for position in ("pie", "fixed"):
                for binding in ("now", "lazy"):
                    for dynsym in ("on", "off"):
                        with self.subTest((way, position, binding, dynsym)):
                            command = [built("-".join(["route", way, position, binding]))]
                            self.check(RecordedRun(command, {"dynsym": dynsym}), names)

    def test_lookups_at_run_time_are_recorded_in_each_way(self):
        for route in ROUTES_AT_RUN_TIME:
            names = RUNTIME_NAMES if route == "dlvsym" else DRIVER_NAMES
            for position in ("pie", "fixed"):
                for dynsym in ("on", "off"):
                    with self.subTest((route, position, dynsym)):
                        command = [built(f"route-look-{position}-now"), route]
                        self.check(RecordedRun(command, {"dynsym": dynsym}), names)

    def test_a_library_is_recorded_however_it_was_opened(self):
        for how in ("local", "global", "again"):
            for way, names in (
                ("driver-now", DRIVER_NAMES),
                ("driver-lazy", DRIVER_NAMES),
                ("runtime-now", RUNTIME_NAMES),
                ("runtime-lazy", RUNTIME_NAMES),
                ("static-now", DRIVER_NAMES),
            ):
                with self.subTest((how, way)):
                    self.check(self.load(how, way), names)
            for route in ROUTES_AT_RUN_TIME:
                with self.subTest((how, route)):
                    self.check(self.load(how, "look-now", route), RUNTIME_NAMES if route == "dlvsym" else DRIVER_NAMES)

    def test_a_library_that_looks_in_itself_first_is_recorded_at_the_driver(self):
        """A library opened with RTLD_DEEPBIND calls libc's dlsym and the runtime's cudaMalloc; its runtime, libc's dlsym."""
        for how in ("deepbind", "lazy-deepbind"):
            for way in ("runtime-now", "runtime-lazy", "static-now", "static-lazy"):
                with self.subTest((how, way)):
                    self.check(self.load(how, way), DRIVER_NAMES)
            for route in ROUTES_AT_RUN_TIME:
                with self.subTest((how, route)):
                    self.check(self.load(how, "look-lazy", route), DRIVER_NAMES + RUNTIME_NAMES)

    def test_a_library_that_looks_in_itself_first_and_was_linked_to_a_known_driver_is_recorded(self):
        for how in ("deepbind", "lazy-deepbind"):
            for binding in ("now", "lazy"):
                with self.subTest((how, binding)):
                    command = [built("loader-linked"), how, built(f"libroute-driver-{binding}.so"), "route_use"]
                    self.check(RecordedRun(command), DRIVER_NAMES)

    def test_a_library_that_looks_in_itself_first_is_not_seen_with_dynsym_off(self):
        run = self.load("deepbind", "runtime-now", options={"dynsym": "off"})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.files, [])


class Namespaces(Loading):
    """dlmopen: with the audit library each call is recorded; without it the recorder is no hindrance."""

    WAYS = (
        ("driver-now",),
        ("driver-lazy",),
        ("runtime-now",),
        ("static-now",),
        ("look-now", "dlsym"),
        ("look-now", "proc_address"),
    )

    def load_audited(self, how, way, *arguments):
        return self.load(how, way, *arguments, environment={"LD_AUDIT": AUDIT})

    def test_a_library_in_a_namespace_is_recorded_at_the_driver_with_the_audit_library(self):
        for way in self.WAYS:
            with self.subTest(way):
                self.check(self.load_audited("namespace", *way), DRIVER_NAMES)

    def test_a_library_in_a_namespace_is_not_seen_without_it(self):
        for way in self.WAYS:
            with self.subTest(way):
                run = self.load("namespace", *way)
                self.assertEqual((run.code, run.files), (0, []), run.err)

    def test_two_drivers_in_two_namespaces_each_get_their_own_calls(self):
        """The device of the second driver's blocks is unknown, because the recorder asks only one driver."""
        for way in self.WAYS:
            with self.subTest(way):
                run = self.load_audited("both", *way)
                self.assertEqual(run.code, 0, run.err)
                expected = [(line.split()[0], int(line.split()[-1])) for line in run.out.splitlines()]
                self.assertEqual(len(expected), 4)
                self.assertEqual(
                    [
                        ("alloc" if event["kind"] == Kind.ALLOC else "free", event["address"])
                        for event in blocks(run.file)
                    ],
                    expected,
                )

    def test_a_library_that_looks_in_itself_first_is_recorded_while_it_is_bound(self):
        for binding in ("now", "lazy"):
            with self.subTest(binding):
                self.check(self.load_audited("deepbind", f"driver-{binding}"), DRIVER_NAMES)

    def test_with_the_audit_library_all_other_ways_are_recorded_as_before(self):
        for how in ("local", "global", "again", "deepbind"):
            for way in self.WAYS:
                with self.subTest((how, way)):
                    self.check(self.load_audited(how, *way), DRIVER_NAMES + RUNTIME_NAMES)

    def test_the_audit_library_ignores_programs_without_the_recorder(self):
        for command in (
            [built("seek"), built("libseek.so")],
            [built("loader"), "namespace", built("libroute-driver-now.so"), "route_use"],
        ):
            plain, audited = run_without_recorder(command), run_without_recorder(command, LD_AUDIT=AUDIT)
            self.assertEqual((audited.returncode, audited.stderr), (plain.returncode, plain.stderr))
            self.assertEqual(len(audited.stdout.splitlines()), len(plain.stdout.splitlines()))

    def test_run_loads_the_audit_library_on_request(self):
        for asked, count in (((), 0), (("--audit",), 1)):
            with tempfile.TemporaryDirectory() as folder:
                done = run_without_recorder(
                    [
                        CLI,
                        "run",
                        "-q",
                        *asked,
                        "-o",
                        os.path.join(folder, "a.gmt.gz"),
                        "--",
                        built("loader"),
                        "namespace",
                        built("libroute-driver-now.so"),
                        "route_use",
                    ]
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(os.listdir(folder)), count)


class OtherPreloads(unittest.TestCase):
    """With another preload before or after the recorder, each call is one event, and that preload sees the same calls."""

    COMMANDS = (
        [built("route-driver-pie-now")],
        [built("route-driver-fixed-lazy")],
        [built("route-runtime-pie-now")],
        [built("route-static-pie-now")],
        [built("route-look-pie-now"), "dlsym"],
        [built("route-look-pie-now"), "proc_address"],
        [built("route-look-pie-now"), "dlvsym"],
        [built("loader"), "local", built("libroute-runtime-now.so"), "route_use"],
        [built("loader"), "deepbind", built("libroute-runtime-now.so"), "route_use"],
        [built("seek"), built("libseek.so")],
    )

    def check_orders(self, other, commands, *, environment=None):
        for command in commands:
            plain = run_without_recorder(command, other, **(environment or {}))
            for preload in (f"{SHIM}:{other}", f"{other}:{SHIM}"):
                with self.subTest((command, preload)):
                    run = RecordedRun(command, preload=preload, environment=environment, timeout=240)
                    self.assertEqual((run.code, run.err), (plain.returncode, plain.stderr))
                    allocations = [line.split() for line in run.out.splitlines() if line.startswith("alloc")]
                    if not allocations:
                        # The program only looks for CUDA, or the other preload does not find a locally opened library.
                        self.assertEqual(run.out, plain.stdout)
                        continue
                    self.assertEqual(
                        [(event["kind"], event["size_bytes"], event["address"]) for event in blocks(run.file)],
                        [(Kind.ALLOC, int(line[1]), int(line[2])) for line in allocations]
                        + [(Kind.FREE, 0, int(line[2])) for line in allocations],
                    )

    def test_another_cuda_preload_with_its_own_dlsym(self):
        # The last command is left out: the other preload's dlsym is wrong for RTLD_NEXT unless ours comes before it.
        self.check_orders(built("libcounter.so"), self.COMMANDS[:-1])

    def check_installed(self, name, **more):
        library = system_library(name)
        if not library:
            self.skipTest(f"{name} is not installed: scripts/setup/packages --test")
        self.check_orders(library, self.COMMANDS, **more)

    def test_jemalloc(self):
        self.check_installed("libjemalloc.so.2")

    def test_tcmalloc(self):
        self.check_installed("libtcmalloc_minimal.so.4")

    def test_libfaketime(self):
        self.check_installed("libfaketime.so.1", environment={"FAKETIME": "-15d"})

    def test_the_runtime_of_asan_works_before_the_recorder_and_refuses_any_preload_before_it(self):
        found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, timeout=60)
        asan = found.stdout.strip()
        if not os.path.isabs(asan):
            self.skipTest("the compiler has no libasan.so")
        asan = os.path.realpath(asan)
        environment = {"ASAN_OPTIONS": "detect_leaks=0"}
        for command in self.COMMANDS[:7]:
            with self.subTest(command):
                run = RecordedRun(command, preload=f"{asan}:{SHIM}", environment=environment)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(len(blocks(run.file)), 2)
        run = RecordedRun(self.COMMANDS[0], preload=f"{SHIM}:{asan}", environment=environment)
        self.assertNotEqual(run.code, 0)
        self.assertIn("ASan runtime does not come first", run.err)


class Storms(unittest.TestCase):
    def test_concurrent_opens_lookups_and_closes_give_the_right_functions(self):
        for options in ({}, {"dynsym": "off"}):
            run = RecordedRun([built("storm"), "8", "300"], options, timeout=240)
            self.assertEqual(run.code, 0, run.err)
            made = int(run.out)
            self.assertEqual(made, 600)
            kinds = [event["kind"] for event in blocks(run.file)]
            self.assertEqual((kinds.count(Kind.ALLOC), kinds.count(Kind.FREE)), (made, made))


class Python(Loading):
    def test_ctypes_and_cffi_users_are_recorded_however_they_open_the_library(self):
        driver = (
            "library.cuInit(0); context = ctypes.c_void_p()\n"
            "library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); library.cuCtxSetCurrent(context)\n"
        )
        cffi = (
            "import cffi\nmaker = cffi.FFI()\n"
            "maker.cdef('int cudaMalloc(void **, size_t); int cudaFree(void *);')\n"
            "library = maker.dlopen('libcudart.so.13'); block = maker.new('void **')\n"
            "assert library.cudaMalloc(block, 777) == 0\n"
            "print('alloc', 777, int(maker.cast('size_t', block[0])))\n"
            "assert library.cudaFree(block[0]) == 0\n"
            "print('free', int(maker.cast('size_t', block[0])))\n"
        )
        scripts = {}
        for kind in ("CDLL", "PyDLL"):
            for mode in ("RTLD_LOCAL", "RTLD_GLOBAL"):
                for file, start, names in (
                    ("libcuda.so.1", driver, DRIVER_NAMES),
                    ("libcudart.so.13", "", RUNTIME_NAMES),
                ):
                    for again in ("library", "ctypes.CDLL(None)") if mode == "RTLD_GLOBAL" else ("library",):
                        scripts[kind, mode, file, again] = (
                            names,
                            (
                                f"import ctypes\nlibrary = ctypes.{kind}('{file}', mode=ctypes.{mode})\n{start}"
                                f"library = {again}; block = ctypes.c_size_t()\n"
                                f"assert library.{names[0]}(ctypes.byref(block), ctypes.c_size_t(777)) == 0\n"
                                "print('alloc', 777, block.value)\n"
                                f"assert library.{names[1]}(block) == 0\n"
                                "print('free', block.value)\n"
                            ),
                        )
        if subprocess.run(["python3", "-c", "import cffi"], capture_output=True, timeout=60).returncode == 0:
            scripts["cffi"] = RUNTIME_NAMES, cffi
        for name, (names, script) in scripts.items():
            with self.subTest(name):
                self.check(RecordedRun(["python3", "-c", script]), names)


class Probes(unittest.TestCase):
    def check_same(self, command, libraries, options=None):
        plain = run_without_recorder(command, libraries=libraries)
        run = RecordedRun(command, options, libraries=libraries)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((run.out, run.err, run.code), (plain.stdout, plain.stderr, plain.returncode))
        return run

    def test_a_program_that_looks_for_cuda_gets_the_same_answers_without_a_driver(self):
        for dynsym in ("on", "off"):
            run = self.check_same([built("seek"), built("libseek.so")], None, {"dynsym": dynsym})
            self.assertIn("undefined symbol: cuInit,", run.out)
            self.assertIn("plugin", run.out)
            self.assertEqual(run.files, [])

    def test_a_program_that_looks_for_cuda_gets_the_same_answers_with_a_driver(self):
        for dynsym in ("on", "off"):
            run = self.check_same([built("seek"), built("libseek.so")], SIMCUDA, {"dynsym": dynsym})
            self.assertIn("program libcuda.so.1 'cuMemAlloc_v2': found", run.out)

    def test_a_program_with_its_own_functions_of_cuda_names_finds_them(self):
        for libraries in (None, SIMCUDA):
            for exports in ("on", "off"):
                run = self.check_same([built("own")], libraries, {"exports": exports})
                self.assertEqual(run.out, "1 1 1 0 0\n77 78\n")

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
            "    pass\n"
        )
        run = self.check_same(["python3", "-c", script], None)
        self.assertIn("undefined symbol: cuInit", run.out)
        self.assertEqual(run.files, [])


if __name__ == "__main__":
    tap.main()
