# SPDX-License-Identifier: MIT
"""The recorder for AArch64 builds without a warning. Its dlsym and its stack walk give the same results under qemu."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tap
from recorded_run import BUILD, SHIM

HERE = os.path.dirname(os.path.abspath(__file__))
PRELOAD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "preload")
# The static libraries that the shim contains.
ROOMS = ("base", "containers", "system", "options", "format", "shared_memory", "source", "accounting", "compaction")
CROSS = "aarch64-linux-gnu-gcc"
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
SYSROOT = "/usr/aarch64-linux-gnu"
LINKS = ("1", "10", "100")

needs_compiler = unittest.skipUnless(
    shutil.which(CROSS) and os.path.exists(os.path.join(SYSROOT, "include", "stdio.h")),
    "no cross compiler: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross",
)
needs_qemu = unittest.skipUnless(QEMU, "no qemu-aarch64: qemu-user")


def shim_sources():
    """Returns (source, arguments) of all files of the shim, as this build compiles them."""
    with open(os.path.join(BUILD, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
        targets = json.load(file)
    found = []
    for target in targets:
        if (target["name"], target["type"]) in (
            ("gpumemtrace", "shared library"),
            *((name, "static library") for name in ROOMS),
        ):
            for part in target["target_sources"]:
                found += [(source, part["parameters"]) for source in part.get("sources", [])]
    return found


def compile_all(sources, folder):
    """Compiles two files at a time. Returns the object files and the compiler's messages."""
    objects, running, said = [], [], []

    def finish(process):
        said.append(process.communicate()[0])
        if process.returncode:
            said.append(f"{process.args[-1]}: compiler's exit code {process.returncode}")

    for source, arguments in sources:
        name = os.path.relpath(source, os.path.dirname(PRELOAD)).replace("/", "_") + ".o"
        objects.append(os.path.join(folder, name))
        running.append(
            subprocess.Popen(
                [CROSS, *arguments, "-fdiagnostics-color=never", "-c", "-o", objects[-1], source],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        if len(running) == 2:
            finish(running.pop(0))
    for process in running:
        finish(process)
    return objects, "".join(said)


def link_shim(objects, folder):
    """
    Links the shim. zlib's symbols stay unresolved, because Debian has no zlib for AArch64 on another machine. The
    loader binds them at their first call, when the shim writes an event. This test records no event.
    """
    path = os.path.join(folder, "libgpumemtrace.so")
    return path, subprocess.run(
        [
            CROSS,
            "-shared",
            "-Wl,-soname,libgpumemtrace.so",
            "-Wl,-z,lazy",
            "-Wl,-z,nodelete",
            "-Wl,-z,noexecstack",
            f"-Wl,--version-script={PRELOAD}/exports.map",
            "-o",
            path,
            *objects,
        ],
        capture_output=True,
        text=True,
    )


def build_program(compiler, folder):
    """Builds the test program and its chain of libraries, for one architecture."""
    common = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fPIC"]
    libraries = []
    for link in LINKS:
        libraries.append(os.path.join(folder, f"liblink{link}.so"))
        subprocess.run(
            [
                *common,
                f"-DLINK={link}",
                "-shared",
                f"-Wl,-soname,liblink{link}.so",
                "-o",
                libraries[-1],
                os.path.join(HERE, "link.c"),
            ],
            check=True,
        )
    path = os.path.join(folder, "stub")
    sources = [os.path.join(HERE, name) for name in ("stub.c", "call_aarch64.S", "call_x86_64.S")]
    subprocess.run(
        [*common, f"-I{PRELOAD}", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "-o", path, *sources, *libraries],
        check=True,
    )
    return path


def build_walk(compiler, folder, *arguments):
    """Builds the walk by frame pointers with its test, for one architecture."""
    path = os.path.join(folder, "walk")
    sources = [
        os.path.join(PRELOAD, "unwind", f"{name}.c")
        for name in ("walk", "stack_cache", "stack_bounds", "memory_is_readable", "rule_cache", "eh_frame")
    ]
    subprocess.run(
        [
            compiler,
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O2",
            "-g",
            "-fno-optimize-sibling-calls",
            f"-I{PRELOAD}",
            f"-I{os.path.join(os.path.dirname(PRELOAD), 'src')}",
            *arguments,
            "-o",
            path,
            os.path.join(HERE, "walk.c"),
            *sources,
            "-pthread",
        ],
        check=True,
    )
    return path


def build_recorder_stack(compiler, folder):
    """Builds recorder stacks with their test, for one architecture."""
    path = os.path.join(folder, "recorder_stack")
    subprocess.run(
        [
            compiler,
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O2",
            "-g",
            "-funwind-tables",
            f"-I{PRELOAD}",
            f"-I{os.path.join(os.path.dirname(PRELOAD), 'src')}",
            "-o",
            path,
            os.path.join(os.path.dirname(HERE), "preload", "runtime", "test_recorder_stack.c"),
            *[os.path.join(PRELOAD, "runtime", name) for name in ("recorder_stack.c", "recorder_stack_switch.S")],
            "-pthread",
        ],
        check=True,
    )
    return path


def run_program(command, environment=None):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd="/", env={**os.environ, **(environment or {})}
    )


class Case(unittest.TestCase):
    def check(self, run, sentences=9):
        """Checks the TAP lines of the program: each is a sentence that it proves or disproves."""
        failed = [line for line in run.stdout.splitlines() if line.startswith(("not ok", "#"))]
        self.assertEqual(failed, [], run.stderr)
        self.assertEqual((run.returncode, len(re.findall("^ok ", run.stdout, re.M))), (0, sentences), run.stderr)


class Here(Case):
    def test_the_dlsym_stub_preserves_registers_on_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            program = build_program(os.environ.get("CC", "cc"), folder)
            self.check(run_program(["env", f"LD_PRELOAD={SHIM}", program]))
            self.check(
                run_program(["env", f"LD_PRELOAD={SHIM}", program, "off"], {"GPUMEMTRACE_OPTIONS": "exports=off"})
            )

    def test_the_walk_by_frame_pointers_sees_each_frame_on_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            # Compilers for other machines may omit frame pointers, and most C libraries do. The chain may end there.
            self.check(
                run_program(
                    [
                        build_walk(
                            os.environ.get("CC", "cc"),
                            folder,
                            "-fno-omit-frame-pointer",
                            "-DSEES_THE_END=0",
                            "-DIS_SIGNED=0",
                        )
                    ]
                ),
                5,
            )


@needs_compiler
class AArch64(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.sources = shim_sources()
        cls.objects, cls.said = compile_all(cls.sources, cls.folder.name)
        cls.shim, cls.linking = link_shim(cls.objects, cls.folder.name)

    def test_recorder_stacks_work(self):
        self.check(run_program([QEMU, "-L", SYSROOT, build_recorder_stack(CROSS, self.folder.name)]), 13)

    def emulate(self, *arguments, options=""):
        program = build_program(CROSS, self.folder.name)
        return run_program(
            [
                QEMU,
                "-L",
                SYSROOT,
                "-E",
                f"LD_PRELOAD={self.shim}",
                "-E",
                f"GPUMEMTRACE_OPTIONS={options}",
                program,
                *arguments,
            ]
        )

    def test_the_whole_shim_is_cross_built_without_a_warning(self):
        self.assertEqual(self.said, "")
        self.assertEqual((self.linking.returncode, self.linking.stderr), (0, ""))

    def test_no_source_of_the_shim_is_left_out(self):
        built = {os.path.realpath(source) for source, _ in self.sources}
        for folder, _, names in os.walk(PRELOAD):
            for name in names:
                if name.endswith((".c", ".S")) and os.path.basename(folder) != "audit":
                    self.assertIn(os.path.realpath(os.path.join(folder, name)), built)

    def test_the_audit_library_is_cross_built_without_a_warning(self):
        done = subprocess.run(
            [
                CROSS,
                "-std=gnu11",
                "-D_GNU_SOURCE",
                "-Wall",
                "-Wextra",
                "-O2",
                "-fPIC",
                "-fvisibility=hidden",
                "-shared",
                "-Wl,-z,defs",
                "-I",
                PRELOAD,
                "-o",
                os.path.join(self.folder.name, "libgpumemtrace-audit.so"),
                os.path.join(PRELOAD, "audit", "audit.c"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_only_zlib_is_unresolved(self):
        said = subprocess.run(
            [CROSS, "-shared", "-Wl,-z,defs", "-o", os.devnull, *self.objects], capture_output=True, text=True
        ).stderr
        missing = set(re.findall(r"undefined reference to `(\w+)'", said))
        self.assertTrue(missing)
        for name in missing:
            self.assertRegex(name, r"^(deflate|inflate|crc32|adler32|gz|zlib)")

    def test_it_has_the_same_exports_as_on_this_machine(self):
        def exports(path):
            rows = subprocess.run(
                ["readelf", "--wide", "--dyn-syms", path], capture_output=True, text=True, check=True
            ).stdout.splitlines()
            rows = [row.split() for row in rows]
            return {row[7] for row in rows if len(row) == 8 and row[4] == "GLOBAL" and row[6].isdigit()}

        self.assertEqual(exports(self.shim), exports(SHIM))

    @needs_qemu
    def test_the_dlsym_stub_preserves_registers_under_qemu(self):
        self.check(self.emulate())

    @needs_qemu
    def test_the_walk_by_frame_pointers_sees_each_frame_to_the_end_under_qemu(self):
        for protection, arguments in (("none", ["-DIS_SIGNED=0"]), ("standard", ["-DIS_SIGNED=1"])):
            program = build_walk(
                CROSS, self.folder.name, "-DSEES_THE_END=1", f"-mbranch-protection={protection}", *arguments
            )
            self.check(run_program([QEMU, "-cpu", "max", "-L", SYSROOT, program]), 5)

    @needs_qemu
    def test_exports_off_removes_the_names_under_qemu(self):
        self.check(self.emulate("off", options="exports=off"))


if __name__ == "__main__":
    tap.main()
