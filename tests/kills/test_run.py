# SPDX-License-Identifier: MIT
"""`run` when the program, or one of its children, did not end in order."""

import atexit
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import shared_recordings
import tap
import tasks
from killing import CHECK, KILLED, cli
from recorded_run import CLI, SIMCUDA, built


def setUpModule():
    shared_recordings.take_own_shared_memory()


def take_signals():
    """Restores default signal actions: under nohup or in the background, the program would inherit ignored signals."""
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.file = self.place("x.gmt.gz")
        self.log = self.place("log")

    def tearDown(self):
        shared_recordings.remove_below(self.folder)

    def place(self, name):
        return os.path.join(self.folder, name)

    def start(self, *command, options=(), output="x.gmt.gz", environment=None, **more):
        return subprocess.Popen(
            [CLI, "run", "--overflow=wait", "-o", output, *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={
                **os.environ,
                "LD_LIBRARY_PATH": SIMCUDA,
                "ASAN_OPTIONS": "verify_asan_link_order=0",
                **(environment or {}),
            },
            preexec_fn=take_signals,
            **more,
        )

    def run_to_end(self, *command, stdin="end\n", **more):
        process = self.start(*command, **more)
        out, err = process.communicate(stdin, timeout=tasks.WAIT_LIMIT_S)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def killed(self, how, ms=100, log=None, threads=2):
        return [KILLED, log or self.log, str(threads), how] + ([str(ms)] if ms is not None else [])

    def check_complete(self, file=None, log=None):
        file = file or self.file
        self.assertTrue(json.loads(cli("info", "--json", file).stdout)["complete"], file)
        done = subprocess.run([CHECK, file, log or self.log, "whole"], capture_output=True, text=True, timeout=120)
        self.assertRegex(done.stdout, r"^\d+$", done.stderr)

    def check_nothing_is_left(self):
        # Other tests of this user record at the same time.
        own = os.path.realpath(self.folder) + os.sep
        left = [
            recording.file for recording in shared_recordings.recordings(self.folder) if recording.file.startswith(own)
        ]
        self.assertEqual(left, [])
        self.assertEqual(glob.glob(os.path.join(shared_recordings.folder(), "*.failed")), [])

    def wait_for_ready(self, process, count=1):
        for _ in range(count):
            self.assertEqual(process.stdout.readline(), "ready\n")

    def check_first_screen(self, text, name):
        self.assertRegex(text, r"\nkilled on .*, complete\npeak ")
        self.assertIn(f"next: gpumemtrace report --full {name} ", text)

    def test_a_program_that_a_signal_ends_has_its_recording_completed_and_its_exit_code_passed_on(self):
        for how, number in ("kill", signal.SIGKILL), ("segv", signal.SIGSEGV), ("abort", signal.SIGABRT):
            with self.subTest(how):
                name, log = f"{how}.gmt.gz", self.place(how)
                done = self.run_to_end(*self.killed(how, log=log), output=name)
                self.assertEqual(done.returncode, 128 + number)
                self.assertRegex(
                    done.stderr,
                    rf"{name}: process \d+ did not end normally: its recording was completed: [0-9,]+ events, "
                    r"[0-9,]+ of them from memory\n",
                )
                self.check_first_screen(done.stderr, name)
                self.check_complete(self.place(name), log)
                self.check_nothing_is_left()

    def test_a_program_that_ends_in_order_has_no_message(self):
        done = self.run_to_end(*self.killed("return"))
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stderr.startswith("\nkilled on "), done.stderr)
        self.check_first_screen(done.stderr, "x.gmt.gz")
        self.check_nothing_is_left()

    def test_quiet_completes_the_recording_without_a_message(self):
        done = self.run_to_end(*self.killed("kill"), options=["-q"])
        self.assertEqual((done.returncode, done.stderr), (137, ""))
        self.check_complete()
        self.check_nothing_is_left()

    def test_a_signal_to_run_ends_the_program_but_run_still_completes_the_recording(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with self.subTest(number.name):
                log, name = self.place(number.name), f"{number.name}.gmt.gz"
                process = self.start(*self.killed("wait", None, log), output=name)
                self.wait_for_ready(process)
                process.send_signal(number)
                _, err = process.communicate(timeout=tasks.WAIT_LIMIT_S)
                self.assertEqual(process.returncode, 128 + number)
                self.assertIn("its recording was completed", err)
                self.check_complete(self.place(name), log)

    def test_a_signal_to_the_whole_job_lets_run_finish(self):
        # A scheduler and a terminal send the signal to the whole process group.
        process = self.start(*self.killed("wait", None), start_new_session=True)
        self.wait_for_ready(process)
        os.killpg(process.pid, signal.SIGTERM)
        _, err = process.communicate(timeout=tasks.WAIT_LIMIT_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("its recording was completed", err)
        self.check_complete()

    def test_ctrl_c_of_a_terminal_lets_run_finish(self):
        main, secondary = os.openpty()
        process = subprocess.Popen(
            [CLI, "run", "--overflow=wait", "-o", "x.gmt.gz", "--", *self.killed("wait", None)],
            stdin=secondary,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA, "ASAN_OPTIONS": "verify_asan_link_order=0"},
            preexec_fn=lambda: take_terminal(secondary),
        )
        self.wait_for_ready(process)
        os.write(main, b"\x03")
        _, err = process.communicate(timeout=tasks.WAIT_LIMIT_S)
        os.close(main)
        os.close(secondary)
        self.assertEqual(process.returncode, 130)
        self.assertIn("its recording was completed", err)
        self.check_complete()

    def test_a_signal_that_comes_a_moment_after_the_program_has_ended_does_not_end_run(self):
        # A scheduler sends the signal to each process of a job, one after the other.
        done = self.run_to_end(
            *self.killed("kill"),
            environment={
                "LD_PRELOAD": built("libswap-file.so"),
                "SWAP_AT": "fsync",
                "SWAP_RAISE": str(int(signal.SIGTERM)),
            },
        )
        self.assertEqual(done.returncode, 137)
        self.check_complete()
        self.check_nothing_is_left()

    def test_recordings_of_killed_children_are_completed_too(self):
        logs = [self.place(f"log.{number}") for number in range(3)]
        names = " ".join(f"'{log}'" for log in logs)
        done = self.run_to_end(
            "sh",
            "-c",
            f"for log in {names}; do (echo end | '{KILLED}' \"$log\" 2 kill 100) 2>/dev/null; done; exit 3",
            output="x.%p.gmt.gz",
        )
        self.assertEqual(done.returncode, 3)
        files = sorted(glob.glob(self.place("x.*.gmt.gz")))
        self.assertEqual((len(files), done.stderr.count("its recording was completed")), (3, 3), done.stderr)
        for file in files:
            self.assertTrue(json.loads(cli("info", "--json", file).stdout)["complete"])
        self.check_nothing_is_left()

    def test_run_waits_for_children_that_end_a_moment_after_the_program(self):
        # The program is killed. Its child, in another session, is killed a tenth of a second later.
        script = (
            "import os, subprocess, sys, threading, time\n"
            f"child = subprocess.Popen({self.killed('wait', None)!r}, start_new_session=True, stdin=subprocess.DEVNULL)\n"
            "subprocess.Popen(['sh', '-c', 'read x; sleep 0.1; kill -9 $0', str(child.pid)], start_new_session=True, "
            "env={**os.environ, 'LD_PRELOAD': ''}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
            "sys.stdin.readline(); os.kill(os.getpid(), 9)\n"
        )
        process = self.start(sys.executable, "-c", script)
        self.wait_for_ready(process)
        out, err = process.communicate("end\nend\n", timeout=tasks.WAIT_LIMIT_S)
        self.assertEqual(process.returncode, 137)
        self.assertIn("its recording was completed", err)
        self.check_complete()

    def test_a_child_that_still_runs_is_not_completed_but_reported(self):
        script = f"'{KILLED}' '{self.log}' 2 wait </dev/null 2>/dev/null & echo $!; exec >&-; read x; exit 0"
        process = self.start("sh", "-c", script)
        lines = {process.stdout.readline() for _ in range(2)}
        pid = int(next(line for line in lines if line != "ready\n"))
        process.stdin.write("end\n")
        process.stdin.flush()
        self.assertEqual(process.wait(tasks.WAIT_LIMIT_S), 0)
        try:
            said = f"x.gmt.gz: in progress: process {pid} is still recording\n"
            self.assertEqual(process.stderr.readline(), "gpumemtrace: hint: " + said)
            tasks.wait_until(
                lambda: "in progress" in cli("report", "--full", self.file).stdout, "the first bytes of the file"
            )
        finally:
            os.kill(pid, signal.SIGKILL)
            tasks.wait_until(lambda: not tasks.find_thread("killed", pid), "the end of the child")
            for stream in process.stdin, process.stdout, process.stderr:
                stream.close()
        self.assertEqual(cli("recover", self.file).returncode, 0)
        self.check_complete()

    def test_a_child_that_records_elsewhere_has_its_recording_completed_too(self):
        os.mkdir(self.place("other"))
        other = self.place("other/y.gmt.gz")
        done = self.run_to_end(
            "sh",
            "-c",
            f"export GPUMEMTRACE_OPTIONS=\"output='{other}':overflow=wait\"; exec '{KILLED}' '{self.log}' 2 kill 100",
        )
        self.assertEqual(done.returncode, 137)
        self.assertIn("y.gmt.gz: process", done.stderr)
        self.check_complete(other)
        self.check_nothing_is_left()

    def test_a_program_that_changes_its_folder_records_to_the_file_that_was_named(self):
        for folder in ("other", "100% other:2"):
            os.makedirs(self.place(folder), exist_ok=True)
            self.folder, whole = self.place(folder), self.folder
            log = self.place("log")
            try:
                command = " ".join(f"'{word}'" for word in self.killed("return", log=log))
                done = self.run_to_end("sh", "-c", f"cd /; exec {command}")
            finally:
                self.folder = whole
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("did not use CUDA", done.stderr)
            self.check_complete(self.place(os.path.join(folder, "x.gmt.gz")), log)

    def test_files_of_another_run_in_the_folder_are_not_completed(self):
        process = self.start("sh", "-c", "echo ready; read x; exit 0", output="%p.gmt.gz")
        self.wait_for_ready(process)
        other = self.run_to_end(*self.killed("return"), output="%p.gmt.gz")
        self.assertEqual(other.returncode, 0)
        _, err = process.communicate("end\n", timeout=tasks.WAIT_LIMIT_S)
        self.assertEqual(err, "gpumemtrace: nothing was recorded: the program did not use CUDA\n")

    def test_a_check_judges_the_completed_recording(self):
        done = self.run_to_end(
            "sh", "-c", f"echo end | '{KILLED}' '{self.log}' 2 kill 100 2>/dev/null; exit 0", options=["--check"]
        )
        self.assertIn("its recording was completed", done.stderr)
        self.assertNotIn("the recording is incomplete", done.stderr)

    def test_memory_whose_file_is_gone_is_reported(self):
        done = self.run_to_end(
            "sh",
            "-c",
            f"echo end | '{KILLED}' '{self.log}' 2 kill 300 2>/dev/null & sleep 0.2; "
            "while ! rm x.gmt.gz 2>/dev/null; do sleep 0.01; done; wait; exit 0",
        )
        self.assertIn("and its file was removed; `gpumemtrace recover /dev/shm/", done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_the_program_does_not_start_if_its_file_cannot_be_created(self):
        plain = self.place("plain")
        with open(plain, "w", encoding="utf-8"):
            pass
        for output, why in (
            ("/proc/x", "cannot create a file in /proc: "),
            ("/dev/null", "is a device"),
            (plain + "/x.gmt.gz", "Not a directory"),
            ("/proc/%p.%e", "cannot create a file in /proc: "),
            (self.place("new/"), "names a folder"),
            (self.place("x" * 300), "has a part of more than 255 bytes"),
        ):
            with self.subTest(output):
                done = self.run_to_end("touch", self.place("started"), output=output)
                lines = [line for line in done.stderr.splitlines() if not line.startswith("gpumemtrace: hint: ")]
                self.assertEqual((done.returncode, len(lines)), (125, 1), done.stderr)
                self.assertIn(why, lines[0])
                self.assertFalse(os.path.exists(self.place("started")))
        self.assertEqual(os.listdir(self.folder), ["plain"])
        self.assertEqual(self.run_to_end("true", output=self.place("new/folder/%p.gmt.gz")).returncode, 0)

    def test_a_failed_recording_is_not_reported_as_a_program_without_cuda(self):
        done = self.run_to_end(
            *self.killed("return"), output="/%q{GMT_TEST_PLACE}/x.gmt.gz", environment={"GMT_TEST_PLACE": "proc"}
        )
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "gpumemtrace: error: nothing was recorded: /proc/x.gmt.gz: ")
        self.assertNotIn("did not use CUDA", done.stderr)
        self.check_nothing_is_left()

    def test_each_recording_has_its_own_name_and_the_name_of_its_run(self):
        self.run_to_end(
            "sh", "-c", f"for i in 1 2; do echo end | '{KILLED}' '{self.log}' 1 return 1; done", output="%p.gmt.gz"
        )
        rows = [
            json.loads(cli("dump", "--json", "--record=process", file).stdout.splitlines()[0])
            for file in glob.glob(self.place("*.gmt.gz"))
        ]
        self.assertEqual(
            (len(rows), len({row["recording"] for row in rows}), len({row["run"] for row in rows})), (2, 2, 1)
        )
        for row in rows:
            for key in "recording", "run":
                self.assertTrue(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", row[key]), row)


def take_terminal(terminal):
    os.setsid()
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    tap.main()
