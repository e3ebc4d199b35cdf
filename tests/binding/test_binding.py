# SPDX-License-Identifier: MIT
"""The shim as the loader sees it: the libraries it needs, the symbols it exports, and the unwinder of C++ exceptions.

A preload that is linked to libunwind puts that library's _Unwind_* functions in front of libgcc's, and
every C++ exception of the host then costs fourteen times as much.
"""

import collections
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import tap
from recorded_run import EXEC_FUNCTIONS, SHIM, SOURCE, RecordedRun, built

sys.path.append(os.path.join(SOURCE, "scripts"))
import cuda_functions

LIBC = {
    "dlsym",
    "dlvsym",
    "dlerror",
    "dlclose",
    "_exit",
    "_Exit",
    "getenv",
    *EXEC_FUNCTIONS,
    "_Fork",
    "pthread_exit",
    "setuid",
    "setreuid",
    "setresuid",
}
PRIVATE = {"gmto", "gmtp2", "gmtsysc"}
# What the audit library calls.
AUDIT = {"gpumemtrace_audit_object", "gpumemtrace_audit_bind"}
NVTX = {"InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension"}
MARKS = {
    f"gpumemtrace_{name}"
    for name in (
        "step",
        "phase_push",
        "phase_pop",
        "mark",
        "is_recording",
        "pause",
        "resume",
        "snapshot",
        "heap",
        "heap_resize",
        "heap_reset",
        "heap_end",
        "suballoc",
        "subfree",
    )
}

UNWINDER = "_Unwind_RaiseException"
STRANGERS = ("libgmtunw.so.8", "libgmtl.so.5")

# meson.build warns if it built none. The system may still have one.
OWN_LIBUNWIND = os.path.join(os.path.dirname(SHIM), "libgmtunw.so.8")
needs_libunwind = unittest.skipUnless(os.path.exists(OWN_LIBUNWIND), "no libunwind was built in the folder of the shim")

Binding = collections.namedtuple("Binding", "by to symbol")


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments, SHIM], capture_output=True, text=True, check=True).stdout


def hooked_symbols():
    return {row.symbol for row in cuda_functions.rows()}


class Loading:
    """A run of the throwing program, with the log of the loader."""

    def __init__(self, preload):
        folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.recording = RecordedRun(
            [built("thrower"), built("libthrows.so"), "3"],
            preload=preload,
            environment={"LD_DEBUG": "bindings,scopes", "LD_DEBUG_OUTPUT": os.path.join(folder, "log")},
        )
        # env(1), which puts the preload in place, becomes the program: one process, two programs.
        (path,) = glob.glob(os.path.join(folder, "log.*"))
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        bindings = re.findall(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: \w+ symbol `(\w+)'", text)
        self.bindings = [Binding(*map(os.path.basename, (by, to)), symbol) for by, to, symbol in bindings]
        # "scope 0" of an object is the global one; an object that is opened later adds its own.
        self.global_scope = {
            os.path.basename(path) for scope in re.findall(r"scope 0: (.*)", text) for path in scope.split()
        }

    def unwinders(self):
        """Returns the libraries whose function throws. libunwind is left out: it would throw with its own."""
        return {binding.to for binding in self.bindings if binding.symbol == UNWINDER and binding.by not in STRANGERS}


class Exceptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.loading = Loading(SHIM)

    def test_the_hosts_exceptions_are_bound_to_libgcc(self):
        run = self.loading.recording
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(self.loading.unwinders(), {"libgcc_s.so.1"})

    @needs_libunwind
    def test_the_unwinder_of_the_shim_was_loaded_when_they_were_thrown(self):
        (allocation, _) = self.loading.recording.events()
        self.assertNotEqual(allocation["stack"], 0)
        self.assertIn("libgmtunw.so.8", {binding.to for binding in self.loading.bindings})

    def test_no_symbol_of_the_unwinder_enters_the_global_scope(self):
        self.assertIn("libgpumemtrace.so", self.loading.global_scope)
        self.assertEqual(self.loading.global_scope & set(STRANGERS), set())
        for binding in self.loading.bindings:
            if binding.to in STRANGERS and binding.by not in STRANGERS:
                # The shim looks this function up by the handle of the library.
                self.assertEqual((binding.by, binding.symbol), ("libgpumemtrace.so", "unw_backtrace"))

    @needs_libunwind
    def test_a_shim_linked_to_libunwind_is_detected(self):
        needed_by_it = os.path.join(os.path.dirname(SHIM), "libgmtl.so.5")
        loading = Loading(f"{SHIM}:{needed_by_it}:{OWN_LIBUNWIND}")
        self.assertEqual(loading.unwinders(), {"libgmtunw.so.8"})
        self.assertIn("libgmtunw.so.8", loading.global_scope)


class Object(unittest.TestCase):
    def test_it_needs_only_the_c_library(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(\S+)\]", readelf("--dynamic")))
        self.assertIn("libc.so.6", needed)
        self.assertEqual({name for name in needed if not name.startswith("ld-linux")}, {"libc.so.6"})

    def test_it_exports_only_hooks_marks_and_listed_functions(
        self,
    ):
        rows = [line.split() for line in readelf("--dyn-syms").splitlines()]
        rows = [row for row in rows if len(row) >= 8 and row[0].endswith(":") and row[6] not in ("UND", "Ndx")]
        self.assertEqual({row[7] for row in rows}, hooked_symbols() | LIBC | AUDIT | NVTX | MARKS | PRIVATE)
        self.assertEqual({(row[3], row[4]) for row in rows}, {("FUNC", "GLOBAL")})

    def test_its_exports_have_no_version(self):
        self.assertNotIn("Version definition section", readelf("--version-info"))

    def test_it_is_bound_at_load_time_never_unloaded_and_runs_no_code_on_the_stack(self):
        self.assertRegex(readelf("--dynamic"), r"FLAGS_1.*NOW.*NODELETE")
        self.assertRegex(readelf("--segments"), r"GNU_STACK(\s+0x0+){5}\s+RW\s")


if __name__ == "__main__":
    tap.main()
