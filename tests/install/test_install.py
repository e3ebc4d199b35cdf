# SPDX-License-Identifier: MIT
"""The build folder, a copy of the build folder, and an installation each work from any folder."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

import tap
from recorded_run import BUILD, SIMCUDA, built, report

PROGRAM = built("busy-threads")


def run(command, folder, **variables):
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA, **variables},
    )


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-install.")
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, cli):
        work = os.path.join(self.folder, "work")
        os.mkdir(work)
        done = run([cli, "run", "--output=x.gmt.gz", "--", PROGRAM, "1", "10"], work)
        self.assertEqual((done.returncode, done.stdout), (0, "10\n"), done.stderr)
        self.assertIn("gpumemtrace report --full x.gmt.gz", done.stderr)
        path = os.path.join(work, "x.gmt.gz")
        self.assertEqual(report(path)["devices"][0]["layers"][0]["alloc_count"], 10)

        line = run([cli, "env"], work).stdout.strip()
        self.assertTrue(line.startswith("LD_PRELOAD="), line)
        done = run(["sh", "-c", f"{line} exec '{PROGRAM}' 1 10"], work, GPUMEMTRACE_OPTIONS="output=y.gmt.gz")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        layer = report(os.path.join(work, "y.gmt.gz"))["devices"][0]["layers"][0]
        self.assertEqual((layer["alloc_count"], layer["free_count"]), (10, 10))
        modules = subprocess.run([cli, "dump", "--record", "module", path], capture_output=True, text=True, check=True)
        return modules.stdout

    def check_tables(self, root, cli):
        """Checks that the installed Python package reads a recording with the installed library and program."""
        (package,) = glob.glob(f"{root}/**/share/gpumemtrace/python", recursive=True)
        script = (
            "import gpumemtrace\nfrom gpumemtrace import _library, _program\n"
            "recording = gpumemtrace.open('x.gmt.gz')\ncapsule = recording.table('blocks').__arrow_c_stream__()\n"
            "print(recording.report().layer('cuda').alloc_count, _library.get()._library._name, _program.find())"
        )
        done = run(["python3", "-c", script], os.path.join(self.folder, "work"), PYTHONPATH=package)
        self.assertEqual(done.returncode, 0, done.stderr)
        count, library, program = done.stdout.split()
        self.assertEqual((count, program), ("10", cli))
        self.assertTrue(library.startswith(root), library)

    def test_the_build_folder_works(self):
        self.check(os.path.join(BUILD, "tools", "gpumemtrace"))

    def test_a_copy_of_the_build_folder_works_and_brings_its_libunwind(self):
        copy = os.path.join(self.folder, "copy")
        for part in ("tools", "preload"):
            shutil.copytree(
                os.path.join(BUILD, part), os.path.join(copy, part), symlinks=True, ignore=shutil.ignore_patterns("*.p")
            )
        modules = self.check(os.path.join(copy, "tools", "gpumemtrace"))
        self.assertIn(f'path="{copy}/preload/libgpumemtrace.so"', modules)
        self.assertIn(f'path="{copy}/preload/libgmtunw.so.8"', modules)

    def test_an_installation_works(self):
        root = os.path.join(self.folder, "root")
        subprocess.run(
            ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], check=True, capture_output=True
        )
        (cli,) = [
            os.path.join(folder, "gpumemtrace")
            for folder, _, files in os.walk(root)
            if folder.endswith("/bin") and "gpumemtrace" in files
        ]
        modules = self.check(cli)
        self.check_tables(root, cli)
        self.assertIn(f'path="{root}', modules)
        self.assertNotIn(f'path="{BUILD}/preload', modules)

    def test_an_installation_contains_the_owner_rules(self):
        root = os.path.join(self.folder, "root")
        subprocess.run(
            ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], check=True, capture_output=True
        )
        (rules,) = glob.glob(f"{root}/**/share/gpumemtrace/owners.rules", recursive=True)
        with open(rules, encoding="utf-8") as file:
            self.assertIn("own   cuBLAS     library  libcublas*\n", file.read())

    def test_an_installation_contains_the_header_and_module_for_marks(self):
        root = os.path.join(self.folder, "root")
        subprocess.run(
            ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], check=True, capture_output=True
        )
        (header,) = glob.glob(f"{root}/**/include/gpumemtrace.h", recursive=True)
        (module,) = glob.glob(f"{root}/**/share/gpumemtrace/python/gpumemtrace/__init__.py", recursive=True)
        source = os.path.join(self.folder, "marks.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(
                "#include <gpumemtrace.h>\nint main(void) { gpumemtrace_step(); return gpumemtrace_is_recording(); }\n"
            )
        for compiler in filter(shutil.which, ("cc", "clang")):
            subprocess.run(
                [
                    compiler,
                    "-std=c99",
                    "-pedantic",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-I",
                    os.path.dirname(header),
                    source,
                    "-o",
                    source + ".out",
                ],
                check=True,
            )
            self.assertEqual(run([source + ".out"], self.folder).returncode, 0)
            shim = os.path.join(BUILD, "preload", "libgpumemtrace.so")
            self.assertEqual(run(["env", f"LD_PRELOAD={shim}", source + ".out"], self.folder).returncode, 1)
        done = run(
            ["python3", "-c", "import gpumemtrace; gpumemtrace.step(); print(gpumemtrace.__file__)"],
            self.folder,
            PYTHONPATH=os.path.dirname(os.path.dirname(module)),
        )
        self.assertEqual(done.stdout.strip(), module)


if __name__ == "__main__":
    tap.main()
