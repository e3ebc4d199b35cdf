# SPDX-License-Identifier: MIT
"""Runs a program under the recorder that takes commands, while the test causes faults in its environment."""

import atexit
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import other_users
import shared_recordings
from definitions import Kind
from recorded_run import SHIM, SIMCUDA, built, cli, records, report
from tasks import WAIT_LIMIT_S as WAIT_S
from tasks import wait_until

HOST = built("faults-host")
INJECT = built("libfaults-inject.so")
ALLOC, FREE = Kind.ALLOC, Kind.FREE
BEGIN_FILE = "faults-begin"

_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2

HAS_MOUNTS = shared_recordings.take_own_mounts()
needs_mounts = unittest.skipUnless(HAS_MOUNTS, "mounting needs root")


def needs_tool(name):
    return unittest.skipUnless(shutil.which(name), f"there is no {name}")


@contextlib.contextmanager
def tmpfs(options, at=None):
    """Mounts a tmpfs at `at`, or in a new folder. Yields its path."""
    place = at or tempfile.mkdtemp(prefix="gpumemtrace-test.")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
    try:
        yield place
    finally:
        _libc.umount2(place.encode(), _MNT_DETACH)
        if not at:
            os.rmdir(place)


@contextlib.contextmanager
def without(place):
    """Hides the contents of a folder: it is empty and read-only meanwhile."""
    with tmpfs("ro", at=place):
        yield


def fill(folder, keep_bytes=0):
    """Fills the disk except about `keep_bytes`, which stay free all the time. Returns the file that takes the space."""
    filler = os.path.join(folder, "filler")
    with open(filler, "wb", buffering=0) as file:
        if keep_bytes:
            buffer = os.statvfs(folder)
            file.write(bytes(buffer.f_bavail * buffer.f_frsize - keep_bytes))
            return filler
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(512))
    return filler


class Host:
    """faults-host under the recorder. A call of the object sends commands, one at a time; end() ends the program."""

    def __init__(
        self, options=None, environment=None, folder=None, around=(), faults=None, streams="", is_reachable=False
    ):
        """Starts the program. `is_reachable`: another user runs it, who may be unable to read the build folder."""
        self.work = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        atexit.register(shutil.rmtree, self.work, ignore_errors=True)
        self.folder = folder or self.work
        self.commands, self.out = [], []
        self.around, self.streams = list(around), streams
        settings = {"output": os.path.join(self.folder, "%p.gmt.gz"), **(options or {})}
        text = ":".join(f"{key}='{value}'" for key, value in settings.items() if value is not None)
        self.program, shim, simcuda = (
            other_users.reachable(path) if is_reachable else path for path in (HOST, SHIM, SIMCUDA)
        )
        self.variables = {**os.environ, "LD_LIBRARY_PATH": simcuda, **(environment or {})}
        self.errors = os.path.join(self.work, "stderr")
        recorded = {**self.variables, "GPUMEMTRACE_OPTIONS": text, **(faults or {})}
        self.faults = faults or {}
        self.process = self.start([shim, INJECT] if faults else [shim], recorded, self.errors)

    def start(self, preload, variables, errors):
        command = ["env", *([f"LD_PRELOAD={':'.join(preload)}"] if preload else []), self.program]
        if self.streams:
            command = ["sh", "-c", f'exec "$@" {self.streams}', "sh", *command]
        with open(errors, "ab") as stderr:
            return subprocess.Popen(
                [*self.around, *command],
                env=variables,
                cwd=self.work,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )

    def __call__(self, *commands):
        for command in commands:
            self.commands.append(command)
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            self.out.append(self.process.stdout.readline())

    @property
    def messages(self):
        """Returns the lines on stderr."""
        with open(self.errors, encoding="utf-8") as file:
            return file.read().splitlines()

    def has_message(self, text):
        return any(text in line for line in self.messages)

    def wait_for(self, text):
        wait_until(lambda: self.has_message(text), f"{text} in {self.messages}")

    def wait_for_events(self, least):
        """Waits until the file itself has at least `least` events."""

        def are_there():
            done = cli("info", "--json", self.file) if self.files else None
            return done and done.stdout and json.loads(done.stdout)["events"] >= least

        wait_until(are_there, f"{least} events in the file")

    def begin_faults(self):
        """Begins the faults that wait for this file (FAULTS_BEGIN_FILE)."""
        with open(os.path.join(self.work, BEGIN_FILE), "w", encoding="utf-8"):
            pass

    def end(self):
        self.process.stdin.close()
        self.out.append(self.process.stdout.read())
        self.process.stdout.close()
        self.code = self.process.wait(timeout=WAIT_S)

    def plain(self):
        """Runs the same commands without the recorder, under the same faults. Returns the output and the exit code."""
        denied = {key: value for key, value in self.faults.items() if key == "FAULTS_DENY"}
        process = self.start([INJECT] if denied else [], {**self.variables, **denied}, os.path.join(self.work, "plain"))
        out, _ = process.communicate("".join(command + "\n" for command in self.commands), timeout=WAIT_S)
        return out, process.returncode

    @property
    def files(self):
        return [
            os.path.join(top, name) for top, _, names in os.walk(self.folder) for name in names if ".gmt.gz" in name
        ]

    @property
    def file(self):
        (only,) = self.files
        return only

    def records(self, kind):
        return records(self.file, kind)

    def notes(self):
        return [row["text"] for row in self.records("note")]

    def count_events(self):
        """Returns the number of events of the program's own calls. The report counts millions of them fast."""
        numbers = self.report()
        layers = [row for device in numbers["devices"] for row in device["layers"] if row["layer"] == "cuda"]
        # A free whose allocation was dropped is in the file, but not in the counts of a layer.
        return sum(row["alloc_count"] + row["free_count"] for row in layers) + numbers["anomalies"]["unknown_frees"]

    def dropped(self):
        """Returns the number of dropped events. Only the last record of each thread and reason counts."""
        last = {(row["thread"], row["reason"]): row["count"] for row in self.records("drop")}
        return sum(last.values())

    def report(self):
        return report(self.file)


class Faults(unittest.TestCase):
    """With any fault, the program works as it does without the recorder, and gets at most one message."""

    def end(self, host, *words, code=0):
        """Ends the program. Its one message must contain `words`; without `words` there must be no message."""
        host.end()
        self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
        self.assertEqual(host.code, code)
        self.check_messages(host, *words)

    def check_messages(self, host, *words):
        # The last line, which counts suppressed messages, is not a message of its own.
        messages = [line for line in host.messages if " more times: " not in line]
        self.assertEqual(len(messages), 1 if words else 0, host.messages)
        for word in ("gpumemtrace: ", *words) if words else ():
            self.assertIn(word, messages[0])

    def check_file(self, host, events, note=None, complete=True):
        """Checks that the file has `events` events, or counts them as dropped, and that a fault has its note."""
        self.assertEqual(host.count_events() + host.dropped(), events)
        self.assertEqual(host.report()["complete"], complete)
        self.check_note(host, note)

    def check_note(self, host, note):
        notes = host.notes()
        self.assertEqual(len(notes), 1 if note else 0, notes)
        if note:
            self.assertIn(note, notes[0])

    def check_nothing_recorded(self, host):
        self.assertEqual(host.files, [])


__all__ = [
    "ALLOC",
    "FREE",
    "BEGIN_FILE",
    "WAIT_S",
    "Faults",
    "Host",
    "cli",
    "fill",
    "needs_mounts",
    "needs_tool",
    "tmpfs",
    "wait_until",
    "without",
    "report",
]
