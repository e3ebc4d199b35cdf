# SPDX-License-Identifier: MIT
"""The recorder writes little to the program's stderr, never waits for it, and never writes into another file."""

import os
import re
import subprocess

import tap
from faulty import WAIT_S, Faults, Host
from recorded_run import SHIM, SIMCUDA, built

NOWHERE = {"output": "/proc/nowhere/x.gmt.gz"}


class Streams(Faults):
    def test_a_file_that_gets_the_number_of_a_stderr_closed_before_the_start_is_left_alone(self):
        host = Host(options=NOWHERE, streams="2>&-")
        host("open own", "events 10")
        self.end(host)
        self.assertIn("open own: 2,", host.out[0])
        with open(os.path.join(host.work, "own"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "my own text")

    def test_a_file_that_gets_the_number_of_a_stderr_closed_in_the_middle_is_left_alone(self):
        host = Host(options=NOWHERE)
        host("close 2", "open own", "events 10")
        self.end(host)
        self.assertIn("open own: 2,", host.out[1])
        with open(os.path.join(host.work, "own"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "my own text")

    def test_a_log_file_that_is_stderr_has_the_line(self):
        for mode in ("a", "w"):
            with self.subTest(mode):
                script = "\n".join(
                    [
                        "import ctypes, os",
                        f"log = open('log', '{mode}')",
                        "os.dup2(log.fileno(), 1)",
                        "os.dup2(log.fileno(), 2)",
                        "block = ctypes.c_void_p()",
                        "assert ctypes.CDLL('libcudart.so.13').cudaMalloc(ctypes.byref(block), ctypes.c_size_t(1)) == 0",
                    ]
                )
                host = Host()
                subprocess.run(
                    ["env", f"LD_PRELOAD={SHIM}", "python3", "-c", script],
                    cwd=host.work,
                    check=True,
                    timeout=WAIT_S,
                    env={**os.environ, "GPUMEMTRACE_OPTIONS": "output=/proc/nowhere/x", "LD_LIBRARY_PATH": SIMCUDA},
                )
                host.end()
                with open(os.path.join(host.work, "log"), encoding="utf-8") as file:
                    self.assertIn("nothing is recorded", file.read())

    def test_a_reader_of_stderr_that_stops_reading_does_not_block_the_program(self):
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        try:
            while True:
                os.write(theirs, bytes(4096))
        except BlockingIOError:
            os.set_blocking(theirs, True)
        process = subprocess.run(
            ["env", f"LD_PRELOAD={SHIM}", built("faults-host")],
            input="events 10\n",
            stderr=theirs,
            stdout=subprocess.PIPE,
            text=True,
            timeout=WAIT_S,
            env={**os.environ, "GPUMEMTRACE_OPTIONS": "output=/proc/nowhere/x:dept=3", "LD_LIBRARY_PATH": SIMCUDA},
        )
        os.close(ours)
        os.close(theirs)
        self.assertEqual((process.stdout, process.returncode), ("events 10: 0, errno 0\n", 0))

    def test_a_line_of_the_writer_reaches_a_file_and_a_pipe_if_it_may_not_fetch_stderr(self):
        for around in ((), ("bash", "-c", '"$@" 2> >(cat >&2)', "bash")):
            with self.subTest(around):
                host = Host(
                    around=around,
                    faults={"FAULTS_DENY": "pidfd_getfd=EPERM", "FAULTS": "write=EIO", "FAULTS_FILE": ".gmt.gz"},
                )
                host("events 10", "pause 3")
                host.end()
                self.assertEqual(host.code, 0)
                host.wait_for("Input/output error")

    def test_without_any_stream_the_recording_is_whole(self):
        host = Host()
        command = ["sh", "-c", f'echo "events 10" | LD_PRELOAD={SHIM} "$0" >&- 2>&-', built("faults-host")]
        subprocess.run(
            command,
            timeout=WAIT_S,
            cwd=host.work,
            env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA, "GPUMEMTRACE_OPTIONS": "output=streams.gmt.gz"},
            check=False,
        )
        host.end()
        self.check_file(host, 20)

    def test_faults_of_one_kind_are_reported_once_and_counted(self):
        # The calls for each thread's ring fail, and so do those for a larger depot.
        host = Host(faults={"FAULTS": "fallocate=ENOSPC@2"})
        host("threads 40")
        host.end()
        self.assertEqual(len(host.messages), 2, host.messages)
        self.assertRegex(host.messages[1], r"^gpumemtrace: \d+ more times: .*No space left on device")
        more = int(re.search(r"(\d+) more times", host.messages[1]).group(1))
        self.assertGreaterEqual(more, 39)
        self.check_note(host, "No space left on device")

    def test_verbosity_0_prints_nothing_and_keeps_the_note(self):
        host = Host(options={"verbosity": "0"}, faults={"FAULTS": "fallocate=ENOSPC@2"})
        host("threads 4")
        self.end(host)
        self.check_note(host, "No space left on device")


if __name__ == "__main__":
    tap.main()
