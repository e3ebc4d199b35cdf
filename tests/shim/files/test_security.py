# SPDX-License-Identifier: MIT
"""Other users can neither read a recording nor misuse the recorder: file modes, planted names, privileged programs."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest

import tap
from recorded_run import SHIM, SIMCUDA, RecordedRun, built

BUSY = built("busy-threads")
NOBODY = 65534
SHM = "/dev/shm"
is_root = os.geteuid() == 0


def numbered(path):
    """Returns the name that the recorder uses if `path` exists."""
    return path.removesuffix(".gmt.gz") + ".1.gmt.gz"


class Files(unittest.TestCase):
    def test_with_any_umask_only_the_user_can_read_the_file(self):
        for mask in 0, 0o022, 0o077:
            run = RecordedRun(["sh", "-c", f"umask {mask:o}; exec {BUSY} 1 20"])
            self.assertEqual(stat.S_IMODE(os.stat(run.file).st_mode), 0o600)

    def test_a_planted_link_is_neither_followed_nor_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            victim, link = os.path.join(folder, "victim"), os.path.join(folder, "out.gmt.gz")
            for target in victim, os.path.join(folder, "dangling"):
                with open(victim, "w") as file:
                    file.write("dear\n")
                os.symlink(target, link)
                run = RecordedRun([BUSY, "1", "20"], {"output": link})
                self.assertEqual((run.code, run.out), (0, "20\n"))
                self.assertEqual(os.readlink(link), target)
                with open(victim) as file:
                    self.assertEqual(file.read(), "dear\n")
                self.assertFalse(os.path.exists(os.path.join(folder, "dangling")))
                self.assertTrue(os.path.isfile(numbered(link)))
                os.unlink(link)
                os.unlink(numbered(link))

    def test_a_planted_pipe_does_not_block(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "out.gmt.gz")
            os.mkfifo(pipe)
            run = RecordedRun([BUSY, "1", "20"], {"output": pipe}, timeout=240)
            self.assertEqual((run.code, run.out), (0, "20\n"))
            self.assertTrue(os.path.isfile(numbered(pipe)))

    @unittest.skipUnless(is_root, "another user's file needs root to be planted")
    def test_a_file_of_another_user_is_not_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o1777)
            planted = os.path.join(folder, "out.gmt.gz")
            with open(planted, "w") as file:
                file.write("theirs\n")
            os.chown(planted, NOBODY, NOBODY)
            os.chmod(planted, 0o666)
            run = RecordedRun([BUSY, "1", "20"], {"output": planted})
            self.assertEqual(run.code, 0)
            with open(planted) as file:
                self.assertEqual(file.read(), "theirs\n")
            self.assertEqual(os.stat(planted).st_uid, NOBODY)

    @unittest.skipUnless(is_root and os.access(SHM, os.W_OK), "another user's folder needs root to be planted")
    def test_a_folder_in_shared_memory_of_another_user_is_not_used(self):
        """Records as user nobody, whose folder root has planted. The memory must then be next to the output."""
        for plant in self.plant_folder, self.plant_link:
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o777)
                place = os.path.join(SHM, f"gpumemtrace-{NOBODY}")
                shutil.rmtree(place, ignore_errors=True)
                inside = plant(place, folder)
                try:
                    out = os.path.join(folder, "%p.gmt.gz")
                    run = subprocess.run(
                        [
                            "setpriv",
                            f"--reuid={NOBODY}",
                            f"--regid={NOBODY}",
                            "--clear-groups",
                            "env",
                            f"LD_PRELOAD={self.copy(SHIM, folder)}",
                            f"GPUMEMTRACE_OPTIONS=output='{out}'",
                            f"LD_LIBRARY_PATH={self.simcuda(folder)}",
                            self.copy(BUSY, folder),
                            "1",
                            "20",
                        ],
                        capture_output=True,
                        text=True,
                        timeout=120,
                        cwd=folder,
                    )
                    self.assertEqual((run.returncode, run.stdout), (0, "20\n"), run.stderr)
                    self.assertEqual(os.listdir(inside), [])
                    files = [name for name in os.listdir(folder) if name.endswith(".gmt.gz")]
                    self.assertEqual(len(files), 1)
                    self.assertEqual(os.stat(os.path.join(folder, files[0])).st_uid, NOBODY)
                finally:
                    if os.path.islink(place):
                        os.unlink(place)
                    else:
                        shutil.rmtree(place)

    @staticmethod
    def plant_folder(place, _folder):
        os.mkdir(place)
        os.chmod(place, 0o777)
        return place

    @staticmethod
    def plant_link(place, folder):
        inside = os.path.join(folder, "elsewhere")
        os.mkdir(inside)
        os.chmod(inside, 0o777)
        os.symlink(inside, place)
        return inside

    @staticmethod
    def copy(path, folder):
        """Copies a file to where user nobody can read it, because other users may not read the build folder."""
        target = os.path.join(folder, os.path.basename(path))
        if not os.path.exists(target):
            shutil.copy(path, target)
            os.chmod(target, 0o755)
        return target

    def simcuda(self, folder):
        libraries = os.path.join(folder, "simcuda")
        if not os.path.isdir(libraries):
            os.mkdir(libraries)
            os.chmod(libraries, 0o755)
            for name in os.listdir(SIMCUDA):
                if ".so" in name and os.path.isfile(os.path.join(SIMCUDA, name)):
                    self.copy(os.path.join(SIMCUDA, name), libraries)
        return libraries


@unittest.skipUnless(is_root, "giving rights to a program needs root")
class Rights(unittest.TestCase):
    """The loader ignores preloads in privileged programs, unless it trusts them. The recorder then does nothing."""

    def run_as_nobody(self, give_rights):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            os.chmod(folder, 0o777)
            program = Files.copy(BUSY, folder)
            # The recorder is linked in by its whole path. So the loader loads it, and the recorder itself must refuse.
            subprocess.run(
                ["cc", "-o", program, "-x", "c", "-", "-x", "none", SHIM, "-Wl,-rpath," + folder, "-ldl"],
                check=True,
                text=True,
                input="""
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *driver = dlopen("%s/simcuda/libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : 0;
	int (*create)(void **, unsigned, int) = driver ? (int (*)(void **, unsigned, int))dlsym(driver, "cuCtxCreate_v2") : 0;
	int (*alloc)(void **, unsigned long) = driver ? (int (*)(void **, unsigned long))dlsym(driver, "cuMemAlloc_v2") : 0;
	void *context, *block;
	printf("%%d\\n", init ? init(0) + create(&context, 0, 0) + alloc(&block, 4096) : -1);
	return 0;
}
"""
                % folder,
            )
            # The linker's new file has the mode that the umask leaves.
            os.chmod(program, 0o755)
            Files.copy(SHIM, folder)
            Files().simcuda(folder)
            give_rights(program)
            # The environment asks for a recording, as an attacker would.
            run = subprocess.run(
                [
                    "setpriv",
                    f"--reuid={NOBODY}",
                    f"--regid={NOBODY}",
                    "--clear-groups",
                    "env",
                    f"GPUMEMTRACE_OPTIONS=output={folder}/out.gmt.gz:verbosity=2:help=1",
                    program,
                ],
                capture_output=True,
                text=True,
                timeout=60,
                cwd=folder,
            )
            self.assertEqual((run.returncode, run.stdout), (0, "0\n"), run.stderr)
            return run.stderr, [name for name in os.listdir(folder) if "gmt" in name and "lib" not in name]

    def test_a_set_uid_program_is_not_recorded(self):
        self.assertEqual(self.run_as_nobody(lambda path: os.chmod(path, 0o4755)), ("", []))

    def test_a_set_gid_program_is_not_recorded(self):
        self.assertEqual(self.run_as_nobody(lambda path: os.chmod(path, 0o2755)), ("", []))

    @unittest.skipUnless(shutil.which("setcap"), "no setcap")
    def test_a_program_with_file_capabilities_is_not_recorded(self):
        def give(path):
            if subprocess.run(["setcap", "cap_net_raw+ep", path], capture_output=True).returncode:
                self.skipTest("the file system keeps no capabilities")

        self.assertEqual(self.run_as_nobody(give), ("", []))

    def test_the_same_program_without_rights_is_recorded(self):
        errors, files = self.run_as_nobody(lambda path: os.chmod(path, 0o755))
        self.assertEqual(files, ["out.gmt.gz"], errors)
        self.assertIn("GPUMEMTRACE_OPTIONS", errors)


if __name__ == "__main__":
    tap.main()
