# SPDX-License-Identifier: MIT
"""`python -m gpumemtrace kernelspec`, and the modules of the magics without Jupyter, in each Python of the machine."""

import glob
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest

import notebooks
import tap
from notebooks import BUILD, HERE, PACKAGE, run

# As much of ipykernel as a kernel's description needs.
IPYKERNEL = """\
import sys

def get_kernel_dict(extra_arguments=None):
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", *(extra_arguments or [])]
    return {"argv": argv, "display_name": "Python 3", "language": "python", "metadata": {"debugger": True}}
"""


def pythons():
    """Returns the interpreters from 3.9 on, by version."""
    folders = [os.path.dirname(sys.executable), "/usr/bin", *os.environ.get("GMT_TEST_PYTHONS", "").split(os.pathsep)]
    folders += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin"))
    found = {}
    for folder in folders:
        for path in glob.glob(os.path.join(folder, "python3.*")) if folder else ():
            version = re.fullmatch(r"python3\.(\d+)", os.path.basename(path))
            if version and int(version[1]) >= 9 and os.access(path, os.X_OK):
                found.setdefault(int(version[1]), path)
    return {f"3.{minor}": found[minor] for minor in sorted(found)}


class Kernelspec(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="gpumemtrace-kernelspec.")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        package = os.path.join(self.folder, "packages", "ipykernel")
        os.makedirs(os.path.join(package, "resources"))
        for name, text in (("__init__.py", ""), ("kernelspec.py", IPYKERNEL), ("resources/logo-64x64.png", "picture")):
            with open(os.path.join(package, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.kernels = os.path.join(self.folder, "share", "jupyter", "kernels")
        self.path = f"{PACKAGE}{os.pathsep}{self.folder}/packages"

    def kernelspec(self, *words, python=sys.executable, **variables):
        variables = {"HOME": self.folder, "PYTHONPATH": self.path, **variables}
        return run(python, "-m", "gpumemtrace", "kernelspec", *words, **variables)

    def install(self, *words, **more):
        done = self.kernelspec("--prefix", self.folder, *words, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def read(self, name="gpumemtrace"):
        with open(os.path.join(self.kernels, name, "kernel.json"), encoding="utf-8") as file:
            return json.load(file)

    def check_error(self, done, message, code=1):
        self.assertEqual((done.returncode, done.stdout), (code, ""))
        self.assertTrue(done.stderr.startswith("gpumemtrace: error: kernelspec: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn(message, done.stderr)

    def test_each_python_writes_a_kernel_of_its_own(self):
        self.assertTrue(pythons())
        for version, python in pythons().items():
            with self.subTest(version=version):
                self.install("--name", f"gpu-{version}", python=python)
                kernel = self.read(f"gpu-{version}")
                executable = subprocess.check_output([python, "-c", "import sys; print(sys.executable)"], text=True)
                self.assertEqual(kernel["argv"][0], executable.strip())
                self.assertEqual(kernel["argv"][-2:], ["--ext", "gpumemtrace"])
                self.assertEqual(kernel["display_name"], f"Python {version}, records GPU memory")
        print(f"# Python {', '.join(pythons())}")

    def test_the_modules_work_in_each_python_without_jupyter(self):
        for version, python in pythons().items():
            with self.subTest(version=version):
                done = run(python, f"{HERE}/check_modules.py", PYTHONPATH=PACKAGE)
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_the_kernel_loads_the_recorder_and_keeps_what_ipykernel_says(self):
        self.install()
        kernel = self.read()
        self.assertEqual(kernel["env"]["LD_PRELOAD"], os.path.join(BUILD, "preload", "libgpumemtrace.so"))
        self.assertEqual(kernel["env"]["GPUMEMTRACE_OPTIONS"], "mode=window:window=1000000:overflow=wait")
        self.assertEqual(kernel["language"], "python")
        self.assertTrue(kernel["metadata"]["debugger"])
        with open(os.path.join(self.kernels, "gpumemtrace", "logo-64x64.png"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "picture")

    def test_the_kernel_finds_a_package_that_only_pythonpath_names(self):
        self.install()
        self.assertEqual(self.read()["env"]["PYTHONPATH"].split(os.pathsep)[0], PACKAGE)

    def test_options_of_the_recorder_and_names_are_those_of_the_user(self):
        self.install(
            "--name=My-Kernel", "--display-name=Größe", "--options", "depth=16:output='a:b.gmt.gz':stacks=python"
        )
        kernel = self.read("my-kernel")
        self.assertEqual(kernel["display_name"], "Größe")
        program = f"{notebooks.TOOLS}/gpumemtrace"
        done = run(program, "env", "--json", "--depth=16", "--output=a:b.gmt.gz", "--stacks=python")
        self.assertEqual(
            kernel["env"]["GPUMEMTRACE_OPTIONS"], json.loads(done.stdout)["variables"]["GPUMEMTRACE_OPTIONS"]
        )

    def test_a_second_installation_replaces_the_first(self):
        self.install("--options=depth=16")
        self.install("--options=depth=32")
        self.assertEqual(self.read()["env"]["GPUMEMTRACE_OPTIONS"], "depth=32")
        self.assertEqual(
            sorted(os.listdir(os.path.join(self.kernels, "gpumemtrace"))), ["kernel.json", "logo-64x64.png"]
        )

    def test_user_is_the_folder_that_jupyter_reads(self):
        for variables, folder in (
            ({}, ".local/share/jupyter"),
            ({"XDG_DATA_HOME": f"{self.folder}/data"}, "data/jupyter"),
            ({"JUPYTER_DATA_DIR": f"{self.folder}/here"}, "here"),
        ):
            with self.subTest(folder=folder):
                done = self.kernelspec("--user", **variables)
                place = os.path.join(self.folder, folder, "kernels", "gpumemtrace")
                self.assertIn(f"installed {place}\n", done.stdout)
                self.assertTrue(os.path.exists(os.path.join(place, "kernel.json")))

    def test_remove_removes_the_kernel_and_nothing_else(self):
        self.install()
        self.install("--name=other")
        self.assertEqual(self.install("--remove"), f"removed {self.kernels}/gpumemtrace\n")
        self.assertEqual(os.listdir(self.kernels), ["other"])
        self.check_error(self.kernelspec("--prefix", self.folder, "--remove"), "there is no such kernel")

    def test_a_kernel_of_somebody_else_stays(self):
        place = os.path.join(self.kernels, "python3")
        os.makedirs(place)
        for text in '{"argv": []}', "no JSON", "[]":
            with self.subTest(text=text):
                with open(os.path.join(place, "kernel.json"), "w", encoding="utf-8") as file:
                    file.write(text)
                for words in [], ["--remove"]:
                    done = self.kernelspec("--prefix", self.folder, "--name=python3", *words)
                    self.check_error(done, "this kernel is not from gpumemtrace: choose another --name")
                with open(os.path.join(place, "kernel.json"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), text)

    def test_without_ipykernel_there_is_a_line_that_says_what_to_type(self):
        for python in pythons().values():
            done = self.kernelspec("--prefix", self.folder, python=python, PYTHONPATH=PACKAGE)
            if done.returncode:  # a Python of this machine may have ipykernel
                self.check_error(done, "this Python has no ipykernel, which a kernel needs: type ")
                self.assertIn("-m pip install ipykernel", done.stderr)
                return
        self.skipTest("each Python has ipykernel")

    def test_wrong_words_are_refused(self):
        for words, message in (
            (["--name=a/b"], "--name: `a/b` is not a name of a kernel"),
            (["--name=.."], "--name: `..` is not a name of a kernel"),
            (["--options=depth=0"], "--options: --depth: `0` is not valid"),
            (["--options=speed=5"], "--options: unknown option `--speed"),
        ):
            with self.subTest(words=words):
                self.check_error(self.kernelspec("--prefix", self.folder, *words), message)
                self.assertFalse(os.path.exists(self.kernels))
        done = self.kernelspec("--user", "--sys-prefix")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_a_folder_that_takes_no_files_is_named(self):
        self.check_error(self.kernelspec("--prefix", "/proc/nowhere"), "choose --user, --sys-prefix or --prefix DIR")

    def test_a_failed_installation_leaves_the_old_kernel(self):
        self.install("--options=depth=16")
        # A folder takes the place of the picture, so that it cannot be replaced.
        logo = os.path.join(self.kernels, "gpumemtrace", "logo-64x64.png")
        os.remove(logo)
        os.mkdir(logo)
        self.check_error(self.kernelspec("--prefix", self.folder, "--options=depth=32"), "logo-64x64.png")
        self.assertEqual(self.read()["env"]["GPUMEMTRACE_OPTIONS"], "depth=16")
        self.assertEqual(sorted(os.listdir(os.path.dirname(logo))), ["kernel.json", "logo-64x64.png"])

    def test_without_the_program_there_is_a_line_that_says_what_to_do(self):
        done = self.kernelspec("--prefix", self.folder, PATH="/nowhere")
        self.check_error(done, "cannot start gpumemtrace: ")
        self.assertIn("install the package again", done.stderr)

    def test_the_other_verbs_are_those_of_the_program(self):
        done = run(sys.executable, "-m", "gpumemtrace", "version", PYTHONPATH=PACKAGE)
        self.assertEqual(done.stdout, run(f"{notebooks.TOOLS}/gpumemtrace", "version").stdout)

    def test_files_have_the_rights_of_new_files(self):
        self.install()
        mode = stat.S_IMODE(os.stat(os.path.join(self.kernels, "gpumemtrace", "kernel.json")).st_mode)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(mode, 0o666 & ~umask)


if __name__ == "__main__":
    tap.main()
