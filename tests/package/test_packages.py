# SPDX-License-Identifier: MIT
"""All packages of scripts/package: wheels, source distribution and Debian packages, installed where users install them.

Only with --long: compiling the libraries takes minutes, and the roots of other Debian releases are downloads.
"""

import glob
import os
import re
import shutil
import sys
import tempfile
import time
import unittest

import packages
import tap
from packages import SOURCE, TABLES, check_recording, check_report, check_tables, make, must, run

SETUP = os.path.join(SOURCE, "scripts", "setup")
NOBODY = 65534
MAX_BYTES = 4 << 20


def last_line(text):
    return text.splitlines()[-1]


def set_up(script, *arguments):
    """Runs a setup script and returns the last line that it prints. Skips the test if the script cannot."""
    done = run(os.path.join(SETUP, script), *arguments, timeout=3000)
    if done.returncode == 77:
        raise unittest.SkipTest(last_line(done.stderr))
    if done.returncode:
        raise AssertionError(done.stderr[-2000:])
    return last_line(done.stdout)


class Root:
    """A copy of a Debian root, in which commands run as in a container."""

    def __init__(self, case, release):
        original = set_up("debian-root", release)
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-root.")
        case.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        must("cp", "-a", "--reflink=auto", original + "/.", self.folder)
        os.chmod(self.folder, 0o755)

    def place(self, path):
        return os.path.join(self.folder, path.lstrip("/"))

    def run(self, *command, **variables):
        # The namespace ends with the command, and /proc with it.
        script = f'mount -t proc proc {self.folder}/proc && exec chroot {self.folder} "$@"'
        environment = {
            "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            **variables,
        }
        words = [f"{name}={value}" for name, value in environment.items()]
        return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", "env", "-i", *words, *command)

    def must(self, *command, **variables):
        done = self.run(*command, **variables)
        if done.returncode:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def files(self):
        """Returns the paths of all files, except shared memory and the notes that dpkg and others keep."""
        found = set()
        for folder, folders, names in os.walk(self.folder):
            inside = folder[len(self.folder) :]
            if inside.startswith(("/dev", "/proc", "/var/lib/dpkg", "/var/log", "/var/cache", "/tmp", "/root")):
                folders[:] = []
                continue
            found.update(os.path.join(inside, name) for name in names + folders)
        return found

    def check_recording(self, case, *command, user="root"):
        """Records the program of the tests in the root and checks its report."""
        shutil.copy(packages.PROGRAM, self.place("/tmp/allocate.py"))
        self.must("sh", "-c", "rm -rf /tmp/work; mkdir -m 777 /tmp/work")
        words = ["run", "-o", "/tmp/work/x.gmt.gz", "--", "python3", "/tmp/allocate.py"]
        as_user = [] if user == "root" else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = self.run(*as_user, *command, *words, LD_LIBRARY_PATH="/opt/simcuda")
        case.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        check_report(case, self.must(*as_user, *command, "report", "--json", "/tmp/work/x.gmt.gz"))


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.environ.get("GMT_TEST_LONG"):
            raise unittest.SkipTest("only with --long: building all packages takes minutes")
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-packages.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.chmod(cls.folder, 0o755)
        cls.wheels = {re.search(r"(x86_64|aarch64)\.whl$", path)[1]: path for path in make("wheel")}
        cls.wheel = cls.wheels["x86_64"]
        cls.tools = set_up("package-tools")

    def place(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        os.chmod(folder, 0o755)
        return folder

    def simcuda(self):
        """Returns the simulated driver, compiled for the same glibc as the wheel."""
        must(f"{self.tools}/ninja", "-C", os.path.join(SOURCE, "build-wheel-x86_64"), "simcuda/libcuda.so.1")
        return os.path.join(SOURCE, "build-wheel-x86_64", "simcuda", "libcuda.so.1")

    def root(self, release):
        root = Root(self, release)
        os.makedirs(root.place("/opt/simcuda"))
        shutil.copy(self.simcuda(), root.place("/opt/simcuda"))
        return root

    def test_wheels_have_at_most_4_mib_and_the_licences_of_what_they_contain(self):
        for path in self.wheels.values():
            self.assertLess(os.path.getsize(path), MAX_BYTES)
            names = must(sys.executable, "-m", "zipfile", "--list", path)
            for name in (
                "COPYING",
                "NOTICE",
                "elfutils-LGPL-3.txt",
                "libunwind.txt",
                "zlib.txt",
                "xz-utils.txt",
                "sqlite3.txt",
            ):
                self.assertRegex(names, rf"dist-info/licenses/{name}\b")
            print(f"# {os.path.basename(path)}: {os.path.getsize(path)} bytes")

    def test_no_file_in_a_wheel_needs_a_glibc_after_2_28(self):
        for architecture, path in self.wheels.items():
            folder = self.place()
            must(sys.executable, "-m", "zipfile", "--extract", path, folder)
            for name in ("bin/gpumemtrace", "lib/gpumemtrace/libgpumemtrace.so", "lib/gpumemtrace/libgmtunw.so.8"):
                symbols = must("readelf", "--wide", "--dyn-syms", f"{folder}/gpumemtrace/{name}")
                versions = {tuple(map(int, one.split("."))) for one in re.findall(r"@GLIBC_([\d.]+)", symbols)}
                self.assertTrue(versions, f"{architecture} {name}")
                self.assertLessEqual(max(versions), (2, 28), f"{architecture} {name}")

    def test_the_aarch64_program_runs_and_reads_a_recording_of_x86_64(self):
        sysroot = "/usr/aarch64-linux-gnu"
        if not shutil.which("qemu-aarch64") or not os.path.exists(f"{sysroot}/lib/ld-linux-aarch64.so.1"):
            self.skipTest("no qemu-aarch64, or no C library for it: run scripts/setup/packages --test")
        folder = self.place()
        must(sys.executable, "-m", "zipfile", "--extract", self.wheels["aarch64"], folder)
        program = f"{folder}/gpumemtrace/bin/gpumemtrace"
        os.chmod(program, 0o755)
        here = os.path.join(packages.BUILD, "tools", "gpumemtrace")
        check_recording(self, [here], folder)
        reports = [
            must(*words, "report", "--full", "--color=never", "x.gmt.gz", cwd=folder)
            for words in (["qemu-aarch64", "-L", sysroot, program], [here])
        ]
        self.assertEqual(*reports)

    def test_the_wheel_works_in_debians_python_and_takes_few_seconds(self):
        venv = os.path.join(self.place(), "venv")
        must(packages.debian_python(), "-m", "venv", venv)
        began = time.monotonic()
        must(f"{venv}/bin/pip", "install", "--no-index", self.wheel)
        check_recording(self, [f"{venv}/bin/gpumemtrace"], self.place())
        print(f"# from pip install to the first report: {time.monotonic() - began:.1f} s")

    def test_the_wheel_works_in_an_environment_of_uv(self):
        folder = self.place()
        uv = [f"{self.tools}/uv", "--no-config", "--cache-dir", f"{folder}/cache"]
        must(*uv, "venv", "--python", packages.debian_python(), f"{folder}/venv")
        must(*uv, "pip", "install", "--no-index", "--python", f"{folder}/venv/bin/python", self.wheel)
        check_recording(self, [f"{folder}/venv/bin/gpumemtrace"], folder)
        check_recording(self, [f"{folder}/venv/bin/python", "-m", "gpumemtrace"], folder)

    def test_the_wheel_works_as_a_tool_of_uv(self):
        folder = self.place()
        variables = {"UV_TOOL_DIR": f"{folder}/tools", "UV_TOOL_BIN_DIR": f"{folder}/bin", "UV_NO_CONFIG": "1"}
        must(
            *(f"{self.tools}/uv", "--cache-dir", f"{folder}/cache", "tool", "install", "--no-index"),
            *("--python", packages.debian_python(), self.wheel),
            **variables,
        )
        check_recording(self, [f"{folder}/bin/gpumemtrace"], folder)

    def test_the_wheel_works_in_a_prefix_with_its_own_c_plus_plus_and_zlib(self):
        prefix = os.path.join(self.place(), "conda")
        must(packages.debian_python(), "-m", "venv", "--copies", prefix)
        for library in ("libstdc++.so.6", "libz.so.1"):
            (path,) = glob.glob(f"/lib/*-linux-gnu/{library}") or glob.glob(f"/usr/lib/*-linux-gnu/{library}")
            shutil.copy(path, f"{prefix}/lib/{library}")
        # As in conda, the prefix's own libraries come first, by the path in its programs.
        must("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib", os.path.realpath(f"{prefix}/bin/python3"))
        must(f"{prefix}/bin/python3", "-m", "pip", "install", "--no-index", self.wheel)
        program = [f"{prefix}/bin/python3", packages.PROGRAM]
        folder = self.place()
        command = f"{prefix}/bin/gpumemtrace"
        done = run(command, "run", "-o", "x.gmt.gz", "--", *program, cwd=folder, LD_LIBRARY_PATH=packages.SIMCUDA)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        check_report(self, must(command, "report", "--json", "x.gmt.gz", cwd=folder))

    def test_the_source_distribution_installs_and_builds_the_same_wheel_content(self):
        (sdist,) = make("sdist")
        venv = os.path.join(self.place(), "venv")
        must(packages.debian_python(), "-m", "venv", venv)
        must(f"{venv}/bin/pip", "install", sdist, timeout=1800)
        check_recording(self, [f"{venv}/bin/gpumemtrace"], self.place())
        mine = must(f"{venv}/bin/pip", "show", "--files", "gpumemtrace")
        for name in ("gpumemtrace/__init__.py", "gpumemtrace/lib/gpumemtrace/libgpumemtrace.so", "bin/gpumemtrace"):
            self.assertIn(name, mine)

    def install_in(self, root):
        """Installs the wheel for all users of the root, and prints how long a user waits for the first report."""
        shutil.copy(self.wheel, root.place("/tmp"))
        began = time.monotonic()
        flags = (
            ["--break-system-packages"] if "--break" in root.must("python3", "-m", "pip", "install", "--help") else []
        )
        root.must("python3", "-m", "pip", "install", "--no-index", *flags, f"/tmp/{os.path.basename(self.wheel)}")
        root.check_recording(self, "gpumemtrace")
        print(f"# from pip install to the first report: {time.monotonic() - began:.1f} s")

    def check_root(self, release):
        root = self.root(release)
        self.install_in(root)
        root.check_recording(self, "python3", "-m", "gpumemtrace")
        root.check_recording(self, "gpumemtrace", user="nobody")
        advice = root.run("gpumemtrace", "doctor", "--", "python3", LD_LIBRARY_PATH="/opt/simcuda").stdout
        self.assertIn("this command can be recorded", advice)
        library = root.must("gpumemtrace", "env", "--path").strip()
        # Programs without CUDA, and one whose rights forbid LD_PRELOAD, do not notice the recorder.
        self.assertEqual(root.must("echo", "x", LD_PRELOAD=library), "x\n")
        shutil.copy(root.place("/usr/bin/id"), root.place("/usr/bin/id-setuid"))
        os.chmod(root.place("/usr/bin/id-setuid"), 0o4755)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = root.run(*as_nobody, "sh", "-c", "cd /tmp/work && gpumemtrace run -- id-setuid")
        self.assertIn("euid=0(root)", done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_wheel_works_in_debian_12(self):
        self.check_root("bookworm")

    def test_the_wheel_works_in_debian_11(self):
        self.check_root("bullseye")

    def test_the_debian_package_works_and_purging_it_leaves_nothing(self):
        root = self.root("bookworm")
        debs = [path for path in make("deb") if "dbgsym" not in path]
        names = sorted(os.path.basename(path).split("_")[0] for path in debs)
        self.assertEqual(names, ["gpumemtrace", "libgpumemtrace-read-dev", "libgpumemtrace-read1"])
        before = root.files()
        for path in debs:
            shutil.copy(path, root.place("/tmp"))
        root.must("dpkg", "--install", *(f"/tmp/{os.path.basename(path)}" for path in debs))
        root.check_recording(self, "gpumemtrace")
        root.check_recording(self, "gpumemtrace", user="nobody")
        self.assertRegex(
            root.must("gpumemtrace", "env", "--path"), r"^/usr/lib/[\w]+-linux-gnu/gpumemtrace/libgpumemtrace\.so\n$"
        )
        new = root.files() - before
        man = "/usr/share/man/man1"
        pages = f"{man}/gpumemtrace.1.gz", f"{man}/gpumemtrace-report.1.gz"
        for path in ("/usr/include/gpumemtrace.h", *pages, "/usr/bin/gpumemtrace"):
            # The root may leave out documentation.
            if path in new or "/man/" not in path:
                self.assertIn(path, new)
        self.assertIn("/usr/include/gpumemtrace-read.h", new)
        check_tables(self, root.must("python3", "-c", TABLES, PYTHONPATH="/usr/share/gpumemtrace/python"))
        root.must("dpkg", "--purge", *names)
        self.assertEqual(sorted(root.files() - before), [])


if __name__ == "__main__":
    tap.main()
