# SPDX-License-Identifier: MIT
"""The wheel of this build: its content, how it starts, and its messages on machines where it cannot start."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile

import packages
import tap
from packages import PLAIN, check_recording, must, run

CHECK = os.path.join(packages.PACKAGING, "check_wheel.py")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-wheel.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.wheel = packages.write_wheel(cls.folder)
        cls.venv = os.path.join(cls.folder, "venv")
        must(packages.debian_python(), "-m", "venv", cls.venv)
        must(f"{cls.venv}/bin/pip", "install", "--no-index", "--no-deps", cls.wheel)
        cls.command = f"{cls.venv}/bin/gpumemtrace"
        cls.package = must(
            f"{cls.venv}/bin/python", "-c", "import gpumemtrace, os; print(os.path.dirname(gpumemtrace.__file__))"
        ).strip()

    def place(self):
        return tempfile.mkdtemp(dir=self.folder)

    def installed(self):
        """Returns a copy of the installed command and its package, with the folders of an environment."""
        root = self.place()
        shutil.copytree(self.venv, root, symlinks=True, dirs_exist_ok=True)
        return root

    def test_the_installed_command_records_and_reports(self):
        check_recording(self, [self.command], self.place())

    def test_the_package_starts_the_program_as_a_module(self):
        check_recording(self, [f"{self.venv}/bin/python", "-m", "gpumemtrace"], self.place())

    def test_the_path_that_env_prints_is_enough_to_record(self):
        folder = self.place()
        line = f"LD_PRELOAD=$({self.command} env --path) {packages.debian_python()} {packages.PROGRAM}"
        must("sh", "-c", line, cwd=folder, LD_LIBRARY_PATH=packages.SIMCUDA, GPUMEMTRACE_OPTIONS="output=x.gmt.gz")
        packages.check_report(self, must(self.command, "report", "--json", f"{folder}/x.gmt.gz"))

    def test_the_package_reads_recordings_with_its_own_library(self):
        folder = self.place()
        check_recording(self, [self.command], folder)
        script = packages.TABLES.replace("/tmp/work", folder)
        # No other library and no other program may be found.
        done = must(f"{self.venv}/bin/python", "-c", script, PATH="/nowhere")
        path = packages.check_tables(self, done)
        self.assertEqual(path, os.path.join(self.package, "lib", "libgpumemtrace-read.so.1"))

    def test_a_read_only_target_folder_works_with_and_without_python(self):
        target = os.path.join(self.place(), "target")
        must(f"{self.venv}/bin/pip", "install", "--no-index", "--no-deps", "--target", target, self.wheel)
        for folder, _, names in os.walk(target):
            for name in names:
                os.chmod(os.path.join(folder, name), os.stat(os.path.join(folder, name)).st_mode & 0o555)
            os.chmod(folder, 0o555)
        check_recording(self, [f"{target}/bin/gpumemtrace"], self.place())
        python = [f"PYTHONPATH={target}", packages.debian_python()]
        check_recording(self, ["env", *python, "-m", "gpumemtrace"], self.place())
        for folder, _, _ in os.walk(target):
            os.chmod(folder, 0o755)

    def test_the_command_finds_its_package_through_a_link(self):
        link = os.path.join(self.place(), "gmt")
        os.symlink(self.command, link)
        self.assertEqual(must(link, "env", "--path"), must(self.command, "env", "--path"))

    def test_the_command_finds_its_package_in_the_folders_of_pypy(self):
        root = self.installed()
        (python,) = [one for one in os.listdir(f"{root}/lib") if one.startswith("python3")]
        os.rename(f"{root}/lib/{python}", f"{root}/lib/pypy3.11")
        path = must(f"{root}/bin/gpumemtrace", "env", "--path").strip()
        package = os.path.relpath(self.package, self.venv).replace(python, "pypy3.11")
        self.assertEqual(os.path.realpath(path), f"{root}/{package}/lib/gpumemtrace/libgpumemtrace.so")

    def test_the_environment_has_the_man_page_of_each_verb(self):
        listed = must(self.command, "help").partition("`gpumemtrace help verb`")[0]
        verbs = re.findall(r"^  ([a-z]+) ", listed, re.M)
        self.assertIn("report", verbs)
        pages = {name for name in os.listdir(f"{self.venv}/share/man/man1") if name.startswith("gpumemtrace")}
        self.assertEqual(pages, {"gpumemtrace.1"} | {f"gpumemtrace-{verb}.1" for verb in verbs})

    def test_the_command_is_not_python(self):
        with open(self.command, encoding="utf-8") as file:
            self.assertEqual(file.readline(), "#!/bin/sh\n")

    def test_without_its_package_the_command_names_the_version_that_it_misses(self):
        root = self.installed()
        (info,) = [one for one in os.listdir(os.path.dirname(self.package)) if one.startswith("gpumemtrace-")]
        libraries = os.path.join(root, os.path.relpath(os.path.dirname(self.package), self.venv))
        os.rename(os.path.join(libraries, info), os.path.join(libraries, "gpumemtrace-0.0.9.dist-info"))
        done = run(f"{root}/bin/gpumemtrace", "version")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        version = re.search(r"gpumemtrace-(.*)\.dist-info", info)[1]
        self.assertIn(f"version {version}, was not found near {root}/bin: install it again", done.stderr)

    def test_on_a_system_without_glibc_the_command_says_what_it_needs(self):
        root = self.installed()
        path = f"{root}/bin/gpumemtrace"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("/lib64/ld-linux-x86-64.so.2", "/lib64/no-such-linker"))
        done = run(path, "version")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertIn("needs 64-bit Linux with glibc; this system has no /lib64/no-such-linker", done.stderr)

    def test_a_program_that_does_not_start_is_explained_by_the_machine(self):
        root = self.installed()
        package = os.path.join(root, os.path.relpath(self.package, self.venv))
        os.remove(f"{package}/bin/gpumemtrace")
        for change, words in (
            ("", f"{package}/bin/gpumemtrace: No such file or directory: install the package again"),
            ("import platform; platform.libc_ver = lambda: ('', '')", "it needs glibc"),
            ("import sys; sys.platform = 'darwin'", "it needs Linux; this is"),
            ("import platform; platform.machine = lambda: 'i686'", "it needs a 64-bit Python"),
        ):
            script = f"{change}\nimport runpy; runpy.run_module('gpumemtrace', run_name='__main__')"
            done = run(packages.debian_python(), "-c", script, PYTHONPATH=os.path.dirname(package))
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
            self.assertIn(f"gpumemtrace: cannot start: {words}", done.stderr)

    def test_a_build_for_an_unsuitable_machine_is_refused_in_one_line(self):
        for change, words in (
            ("platform.libc_ver = lambda: ('', '')", "it needs glibc"),
            ("sys.platform = 'darwin'", "it needs Linux"),
            (
                "platform.machine = lambda: 'i686'",
                "it needs a 64-bit Python on x86-64 or AArch64; this is i686, 64 bit",
            ),
        ):
            script = f"import platform, sys, backend\n{change}\nbackend.get_requires_for_build_wheel()"
            done = run(sys.executable, "-B", "-c", script, PYTHONPATH=packages.PACKAGING)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(f"gpumemtrace cannot be installed: {words}", done.stderr)

    def test_a_program_without_cuda_sees_no_difference(self):
        folder = self.place()
        script = "import os, sys; print(sorted(os.listdir('.')), len(os.listdir('/proc/self/fd')))"
        plain = must(packages.debian_python(), "-c", script, cwd=folder)
        done = run(self.command, "run", "--", packages.debian_python(), "-c", script, cwd=folder)
        self.assertEqual((done.returncode, done.stdout), (0, plain))
        self.assertEqual(os.listdir(folder), [])

    def test_uninstalling_leaves_nothing(self):
        root = self.installed()
        # pip of a copied environment is started by its module, because its script names the old folder.
        must(f"{root}/bin/python", "-m", "pip", "uninstall", "--yes", "gpumemtrace")
        left = [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(root)
            for name in folders + names
            if "gpumemtrace" in name
        ]
        self.assertEqual(left, [])

    def test_equal_files_make_equal_wheels(self):
        with open(self.wheel, "rb") as file:
            first = file.read()
        folder = self.place()
        with open(packages.write_wheel(folder), "rb") as file:
            self.assertEqual(file.read(), first)


class Check(unittest.TestCase):
    """The rules of check_wheel.py, each with a wheel that breaks it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-wheel.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.wheel = packages.write_wheel(cls.folder)

    def broken(self, tag, change=None):
        """Returns what the check prints about a wheel with another tag, and with files changed by `change`."""
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), os.path.basename(self.wheel))
        path = path.replace("linux_x86_64", tag)
        with zipfile.ZipFile(self.wheel) as old, zipfile.ZipFile(path, "w") as new:
            for about in old.infolist():
                content = old.read(about)
                content = change(about.filename, content) if change else content
                if content is not None:
                    new.writestr(about.filename, content)
        done = subprocess.run([sys.executable, "-B", CHECK, path], capture_output=True, text=True, env=PLAIN)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def test_a_tag_that_promises_an_older_glibc_is_refused(self):
        text = self.broken("manylinux_2_5_x86_64")
        self.assertRegex(text, r"libgpumemtrace\.so needs glibc 2\.\d+: older systems would start no process with it")

    def test_a_library_that_a_system_may_lack_is_refused(self):
        self.assertRegex(self.broken("manylinux_2_99_x86_64"), r"bin/gpumemtrace needs .*libdw\.so\.1")

    def test_a_wheel_for_another_architecture_is_refused(self):
        text = self.broken("manylinux_2_99_aarch64")
        self.assertIn("libgpumemtrace.so is for Advanced Micro Devices X86-64", text)

    def test_a_wheel_of_this_machine_alone_is_refused(self):
        self.assertIn("has no tag py3-none-manylinux", self.broken("linux_x86_64"))

    def test_a_changed_and_a_missing_file_are_named(self):
        marks = "gpumemtrace/__init__.py"
        text = self.broken("manylinux_2_99_x86_64", lambda name, content: content + b"#" if name == marks else content)
        self.assertIn(f"{marks}: RECORD has another content", text)
        text = self.broken("manylinux_2_99_x86_64", lambda name, content: None if name == marks else content)
        self.assertIn(f"{marks} is missing", text)

    def test_a_wheel_that_is_too_large_is_refused(self):
        noise = os.urandom(5 << 20)
        text = self.broken(
            "manylinux_2_99_x86_64", lambda name, content: noise if name.endswith("METADATA") else content
        )
        self.assertRegex(text, r"it has \d+ bytes, 4194304 are the limit")

    def test_programs_in_the_wheel_may_be_executed(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            modes = {about.filename: about.external_attr >> 16 for about in wheel.infolist()}
        for name, mode in modes.items():
            is_program = "/bin/" in name or "/lib/" in name or "/scripts/" in name
            self.assertEqual(bool(mode & stat.S_IXOTH), is_program, name)


if __name__ == "__main__":
    tap.main()
