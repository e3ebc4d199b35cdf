# SPDX-License-Identifier: MIT
"""Runs a program that allocates at full rate and logs its own calls, and kills it."""

import atexit
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import shared_recordings
import tasks
from recorded_run import CLI, SHIM, SIMCUDA, built

KILLED = built("killed")
CHECK = built("check-killed")
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
RING_EVENTS = 16384


class Killed:
    """One run of killed.c in its own folder, with its log and its recording."""

    def __init__(
        self, how="wait", after_ms=None, threads=4, options=None, place=None, limits=(), preload=(), environment=None
    ):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.", dir=place)
        atexit.register(self.clear)
        # The log is on another file system than the recording, because a test may fill the recording's disk.
        self.log = os.path.join(tempfile.gettempdir(), f"gpumemtrace-test-log.{os.path.basename(self.folder)}")
        self.file = os.path.join(self.folder, "killed.gmt.gz")
        # The log has every call. With overflow=wait the recorder drops no call while its thread stands still.
        settings = {"output": self.file, "overflow": "wait", **(options or {})}
        text = ":".join(f"{key}='{value}'" for key, value in settings.items())
        command = [*limits, "env", "LD_PRELOAD=" + " ".join([SHIM, *preload]), KILLED, self.log, str(threads), how]
        self.process = subprocess.Popen(
            command + ([str(after_ms)] if after_ms is not None else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "GPUMEMTRACE_OPTIONS": text,
                "LD_LIBRARY_PATH": SIMCUDA,
                "CALL_LOG": self.log,
                **(environment or {}),
            },
            text=True,
        )
        self.ready = self.process.stdout.readline()
        self.memory = shared_recordings.find(self.file)
        # The program removes the memory when it ends. So the program may end only now, after we have opened the memory.
        if after_ms is not None:
            self.process.stdin.write("end\n")
            self.process.stdin.flush()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        self.out, self.err = self.process.communicate(timeout=tasks.WAIT_LIMIT_S)
        return self.process.returncode

    def wait_until(self, condition, what):
        """Waits for the condition; fails if the program ends before."""
        tasks.wait_until(condition, what, lambda: self.process.poll() is not None)

    def wait_for_events(self, least=1):
        """Waits until the file itself, without the memory, has at least `least` events. Returns their number."""
        copy = os.path.join(tempfile.gettempdir(), f"gpumemtrace-test-copy.{os.path.basename(self.folder)}")

        def count():
            shutil.copy(self.file, copy)
            done = cli("info", "--json", copy)
            return json.loads(done.stdout)["events"] if done.stdout else 0

        try:
            found = []
            self.wait_until(lambda: found.append(count()) or found[-1] >= least, f"{least} events in {self.file}")
            return found[-1]
        finally:
            if os.path.exists(copy):
                os.unlink(copy)

    def published(self):
        """Returns the number of published events of each thread, from the memory."""
        return {tid: published for tid, published, _, _ in self.memory.rings()}

    def calls(self):
        """Returns the number of calls in the program's log (call_log.h has its layout)."""
        bytes_of_thread = 16 + (32 << 20)
        with open(self.log, "rb") as file:

            def done(thread):
                file.seek(thread * bytes_of_thread + 8)
                return int.from_bytes(file.read(8), "little")

            return sum(done(thread) for thread in range(8))

    def check(self, file=None, how="whole", published=None):
        """Compares a recording with the log. Returns the failure as a text, or the count of events."""
        counts = [f"{tid}={count}" for tid, count in (published or {}).items()]
        done = subprocess.run(
            [CHECK, file or self.file, self.log, how, *counts], capture_output=True, text=True, timeout=120
        )
        return done.stdout.strip() + done.stderr

    def wait_for_compaction(self, seconds, is_over):
        """Waits until a compaction is in progress, or until its file has become the recording (`is_over`)."""
        inode, deadline = os.stat(self.file).st_ino, time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.stat(self.file).st_ino != inode if is_over else os.path.exists(self.file + ".fold"):
                return
            time.sleep(0.0002)

    def writer(self):
        """Waits until the recorder's thread has its name. Returns its thread id."""
        return tasks.wait_for_thread(tasks.WRITER, self.memory.pid, lambda: self.process.poll() is not None)

    def hold_writer(self, meanwhile, until):
        """
        Stops only the recorder's thread, calls `meanwhile`, and lets the thread go on when `until` is true. Returns
        False without the right to trace.
        """
        libc, writer = ctypes.CDLL(None), self.writer()
        if libc.ptrace(PTRACE_SEIZE, writer, None, None):
            return False
        libc.ptrace(PTRACE_INTERRUPT, writer, None, None)
        os.waitpid(writer, WALL)
        meanwhile()
        self.wait_until(until, "what the recorder's thread is held for")
        libc.ptrace(PTRACE_DETACH, writer, None, None)
        return True

    def clear(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        shared_recordings.remove_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        if os.path.exists(self.log):
            os.unlink(self.log)


def cli(*arguments):
    return subprocess.run([CLI, *arguments], capture_output=True, text=True, timeout=120)
