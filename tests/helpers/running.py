# SPDX-License-Identifier: MIT
"""Runs a program under the recorder. It obeys the test, line by line (tests/shim/writer/programs/control.c)."""

import json
import os
import shutil
import signal
import subprocess
import tempfile

import tasks
from recorded_run import CLI, SHIM, SIMCUDA, built, cli

MiB = 1 << 20
PROGRAM = built("control")


def is_complete(path):
    done = cli("info", "--json", path)
    return done.returncode == 0 and json.loads(done.stdout)["complete"]


class Running:
    """The program, started under the recorder in its own folder."""

    def __init__(self, options="", environment=None, program=PROGRAM, runtime=True):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.runtime = os.path.join(self.folder, "runtime")
        os.mkdir(self.runtime, 0o700)
        self.path = os.path.join(self.folder, "recording.gmt.gz")
        self.environment = {
            **os.environ,
            **({"XDG_RUNTIME_DIR": self.runtime} if runtime else {}),
            **(environment or {}),
        }
        self.process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={
                **self.environment,
                "LD_PRELOAD": SHIM,
                "LD_LIBRARY_PATH": SIMCUDA,
                "GPUMEMTRACE_OPTIONS": f"output='{self.path}':{options}",
            },
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "ok\n"

    def end(self):
        _, self.err = self.process.communicate(timeout=tasks.WAIT_LIMIT_S)
        assert self.process.returncode == 0, self.err

    def run_cli(self, *arguments):
        return subprocess.run(
            [CLI, *arguments],
            capture_output=True,
            text=True,
            timeout=tasks.WAIT_LIMIT_S,
            cwd=self.folder,
            env=self.environment,
        )

    def ps(self):
        """Waits until `gpumemtrace ps` lists the process, soon after its first event. Returns its row."""
        return tasks.wait_until(self.ps_rows, "a row of ps")[0]

    def ps_rows(self):
        """Returns the rows of ps for recordings in this folder."""
        return [
            row
            for row in json.loads(self.run_cli("ps", "--json").stdout)["processes"]
            if row["file"].startswith(self.folder)
        ]

    def pid(self):
        self.ps()
        return str(self.process.pid)

    def snapshots(self):
        return sorted(
            os.path.join(self.folder, name)
            for name in os.listdir(self.folder)
            if ".snapshot-" in name and name.endswith(".gmt.gz")
        )

    def stop(self):
        """Stops the process, and waits until each of its threads has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def wait_for_snapshots(self, count):
        tasks.wait_until(
            lambda: len(self.snapshots()) >= count and all(is_complete(path) for path in self.snapshots()),
            f"{count} complete snapshots",
        )
        return self.snapshots()


def top(run, *arguments):
    """Returns the rows of `top --json`, after a check of its exit code."""
    done = run.run_cli("top", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["processes"]


def wait_for_row(run, is_right, *arguments):
    """Waits until the row of the process is right: the recorder writes its file once a second."""

    def look():
        rows = [row for row in top(run, *arguments) if "devices" in row]
        return rows if rows and is_right(rows[0]) else None

    return tasks.wait_until(look, "the row of top with what the program did")[0]


def gpu(row):
    return next((device for device in row["devices"] if device["device"] == 0), {"cuda_bytes": None})
