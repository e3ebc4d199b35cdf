# SPDX-License-Identifier: MIT
"""Unusual hosts work: with filters that kill, under an audit library, in Go, and in another user's storm of forks."""

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import host_programs
import tap
import witnessed
from recorded_run import SHIM, RecordedRun, built
from test_cuda_hosts import DRIVER, HOST, is_the_recorders, row

SANDBOXED = built("sandboxed")
AUDIT = built("libaudit-of-others.so")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_host.go")
NOBODY = 65534
STORM = 40


class Comparison(unittest.TestCase):
    def check(self, host, libraries=None, is_expected=None):
        different, _, plain = witnessed.compare_row(host, libraries, is_expected=is_expected)
        if plain.outcome.end == "exit 77":
            self.skipTest("no filters here")
        if different:
            self.fail(different[:4000])
        self.assertEqual(plain.outcome.end, host.expected_end, plain.outcome.err[-1500:])
        self.assertIn(host.expected_text, plain.outcome.out)


class Filters(Comparison):
    """seccomp filters. At the end of a process without CUDA the recorder makes no system call."""

    def test_a_process_without_cuda_ends_in_order_under_a_killing_seccomp_filter(self):
        for how, end, says in (
            ("return", "exit 3", b"behind"),
            ("signal", "exit 4", b"handler"),
            ("strict", "exit 5", b"strictly"),
        ):
            with self.subTest(how):
                # Runs without the witnesses, because they write files at the end.
                plain, recorded = (
                    subprocess.run(["env", *preload, SANDBOXED, how], capture_output=True, timeout=60, check=False)
                    for preload in ([], [f"LD_PRELOAD={SHIM}"])
                )
                if plain.returncode == 77:
                    self.skipTest("no filters here")
                self.assertEqual((plain.returncode, f"exit {plain.returncode}"), (int(end.split()[1]), end))
                self.assertIn(says, plain.stdout)
                self.assertEqual(
                    (recorded.returncode, recorded.stdout, recorded.stderr),
                    (plain.returncode, plain.stdout, plain.stderr),
                )

    def test_events_under_a_killing_seccomp_filter_are_recorded(self):
        run = RecordedRun([built("sandboxed-cuda"), "events"], libraries=DRIVER)
        if run.code == 77:
            self.skipTest("no filters here")
        self.assertEqual((run.code, run.out), (6, "allocated behind the filter\n"), run.err)
        # exit_group does not notify the recorder, so the last events come from its memory.
        self.assertEqual(run.totals()["alloc_count"], 2100)


class Audit(Comparison):
    def test_programs_with_another_audit_library_behave_the_same(self):
        environment = {"LD_AUDIT": AUDIT}
        self.assertEqual(
            subprocess.run(["env", f"LD_AUDIT={AUDIT}", "true"], capture_output=True, check=False).stderr, b""
        )
        self.check(
            host_programs.Host(
                "a shell",
                ["sh", "-c", "ls /; getent passwd root; exit 3"],
                expected_end="exit 3",
                environment=environment,
            )
        )
        host = row(HOST, "errno", "exit 0", b"errno 12345, then 12345")
        host.environment.update(environment)
        self.check(host, DRIVER, is_the_recorders)

    def test_calls_with_another_audit_library_are_recorded(self):
        run = RecordedRun([HOST, "errno"], libraries=DRIVER, environment={"LD_AUDIT": AUDIT})
        self.assertEqual((run.code, run.err, len(run.events())), (0, "", 24))


@unittest.skipUnless(shutil.which("go"), "no Go (scripts/test --long installs it)")
class Go(Comparison):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-go.")
        cls.program = os.path.join(cls.folder, "host")
        environment = {
            **os.environ,
            "CGO_LDFLAGS": f"-L{DRIVER} -l:libcuda.so.1",
            "GO111MODULE": "off",
            "GOCACHE": os.path.join(cls.folder, "cache"),
            "GOFLAGS": "",
            "CGO_ENABLED": "1",
        }
        os.symlink(os.path.join(DRIVER, "libcuda.so.1"), os.path.join(cls.folder, "libcuda.so"))
        environment["CGO_LDFLAGS"] = f"-L{cls.folder}"
        done = subprocess.run(
            ["go", "build", "-o", cls.program, SOURCE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise unittest.SkipTest("Go cannot build with C here: " + done.stderr[-300:])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_goroutines_that_call_the_driver_behave_the_same_and_are_recorded(self):
        host = host_programs.Host(
            "Go",
            [self.program],
            expected_end="exit 5",
            expected_text=b"child",
            environment={"GPUMEMTRACE_OPTIONS": "output='recorded.%p.gmt.gz'"},
            ignored=(r"work/recorded\.\d+\.gmt\.gz$",),
        )
        self.check(host, DRIVER, lambda fact: is_the_recorders(fact) or fact == "lowest free descriptor")
        run = RecordedRun([self.program], libraries=DRIVER)
        self.assertEqual((run.code, run.err, len(run.events())), (5, "", 10000))


@unittest.skipUnless(
    os.geteuid() == 0 and os.path.isdir("/dev/shm") and shutil.which("setpriv"), "another user needs root"
)
class Storm(unittest.TestCase):
    """Another user repeatedly starts recorded programs and kills them. Their memory stays in /dev/shm."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-storm.", dir="/var/tmp")
        os.chmod(self.folder, 0o777)
        self.shim, self.program = (shutil.copy(path, self.folder) for path in (SHIM, HOST))
        os.mkdir(os.path.join(self.folder, "driver"))
        shutil.copy(os.path.join(DRIVER, "libcuda.so.1"), os.path.join(self.folder, "driver"))
        for top, folders, files in os.walk(self.folder):
            for name in folders + files:
                os.chmod(os.path.join(top, name), 0o755)
        self.place = f"/dev/shm/gpumemtrace-{NOBODY}"

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def test_killed_recordings_of_another_user_are_neither_read_nor_waited_for(self):
        # Each program stops itself after its calls. A second later it is killed.
        script = (
            f'cd {self.folder}; for i in $(seq {STORM}); do (GPUMEMTRACE_OPTIONS="output={self.folder}/%p.gmt.gz:memory=16MiB" '
            f'LD_LIBRARY_PATH={self.folder}/driver LD_PRELOAD={self.shim} timeout -s KILL 1 {self.program} kill {int(signal.SIGSTOP)} '
            f'|| true) & done; wait'
        )
        began = time.monotonic()
        storm = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "bash", "-c", script],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        runs = 0
        try:
            while storm.poll() is None or not runs:
                run = RecordedRun([HOST, "errno"], libraries=DRIVER, timeout=120)
                self.assertEqual((run.code, run.err, len(run.events())), (0, "", 24))
                runs += 1
        finally:
            if storm.poll() is None:
                os.killpg(storm.pid, signal.SIGKILL)
            storm.wait()
        left = glob.glob(self.place + "/*")
        print(f"# {runs} runs next to the storm in {time.monotonic() - began:.0f} s; it left {len(left)} files")
        self.assertGreater(len(left), 0, "the storm left nothing: proves nothing")
        # The other user's files stay unchanged, and only that user gets messages about them.
        before = {path: os.stat(path).st_mtime_ns for path in left}
        run = RecordedRun([HOST, "errno"], {"verbosity": "2"}, libraries=DRIVER)
        self.assertEqual(run.code, 0)
        self.assertNotIn(self.place, run.err)
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in glob.glob(self.place + "/*")}, before)


if __name__ == "__main__":
    tap.main()
