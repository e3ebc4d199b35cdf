# SPDX-License-Identifier: MIT
"""Shared by the checks of scripts/gpu-check: runs programs with and without the recorder; collects the verdicts.

Needs only Python 3.8.
"""

import glob
import json
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
SCHEMA = "gpumemtrace.gpu-check/1"
PROGRAM_SECONDS = 300
LAST_SECONDS = 5  # reserved for the last output


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


class Run:
    """A program that ended: its exit code, its output, and the paths of its recordings, the largest last."""

    def __init__(self, code, out, err, files):
        self.code, self.out, self.err, self.files = code, out, err, files

    @property
    def file(self):
        return self.files[-1] if self.files else None

    @property
    def said(self):
        return self.out + self.err

    def not_compared(self):
        return f"recorded in {self.file}; without the CLI it cannot be compared here"

    def why(self):
        ending = f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
        return f"{ending}: {last_line(self.said)}"


class Table:
    """Verdicts by section, printed immediately: ok, FAILED, skipped (with the reason), noted (a fact without verdict)."""

    def __init__(self):
        self.sections = []

    def section(self, title):
        self.sections.append({"name": title, "checks": []})
        print(f"\n== {title}\n", flush=True)

    def add(self, what, verdict, detail="", **figures):
        row = {"what": what, "verdict": verdict, "detail": detail}
        if figures:
            row["figures"] = figures
        self.sections[-1]["checks"].append(row)
        print(f"{verdict:<8}{what}{': ' if detail else ''}{detail}", flush=True)

    def judge(self, what, wrong, detail="", **figures):
        """Adds the verdict ok if the list `wrong` is empty, otherwise FAILED."""
        shown = "; ".join(wrong[:6]) + (f"; and {len(wrong) - 6} more" if len(wrong) > 6 else "")
        self.add(what, "FAILED" if wrong else "ok", shown or detail, **figures)

    def count(self, verdict):
        return sum(row["verdict"] == verdict for section in self.sections for row in section["checks"])

    def save(self, path, about):
        counts = {verdict: self.count(verdict) for verdict in ("ok", "FAILED", "skipped", "noted")}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": SCHEMA, **about, "counts": counts, "sections": self.sections}, file, indent=1)
            file.write("\n")


class Runner:
    """Runs programs with and without the recorder, until the time of all checks is spent."""

    def __init__(self, options):
        self.shim, self.cli, self.python = options.shim, options.cli, options.python
        self.libraries, self.keep, self.build = options.libraries, options.keep, options.build
        self.is_simulated = bool(options.runtime)
        self.deadline = time.monotonic() + options.seconds
        self.programs = os.path.join(self.keep, "programs")

    def seconds_left(self):
        return self.deadline - time.monotonic() - LAST_SECONDS

    def kept_path(self, name):
        return os.path.join(self.keep, name)

    def recordings(self, name):
        """Returns the recordings with that name, by size. The last is the program's own. The others are its children's."""
        return sorted(glob.glob(self.kept_path(f"{name}.*.gmt.gz")), key=os.path.getsize) if name else []

    def program(self, name):
        return os.path.join(self.programs, name)

    def environment(self, name=None, settings="", **more):
        variables = {**os.environ, **more}
        if self.libraries and "LD_LIBRARY_PATH" not in more:
            variables["LD_LIBRARY_PATH"] = self.libraries
        if name:
            variables["LD_PRELOAD"] = self.shim
            # On the simulated device a busy machine must not lose events. On a real device the check uses the default.
            options = [
                "output='" + os.path.join(self.keep, name + ".%p.gmt.gz") + "'",
                "overflow=wait" if self.is_simulated else "",
                settings,
            ]
            variables["GPUMEMTRACE_OPTIONS"] = ":".join(filter(None, options))
        return variables

    def run(self, command, name=None, settings="", seconds=PROGRAM_SECONDS, folder=None, **more):
        """Runs a program in a folder. With `name` it runs under the recorder, and its recordings get that name."""
        for left in self.recordings(name):
            os.unlink(left)  # a recording of an earlier run into the same folder
        seconds = max(1.0, min(seconds, self.seconds_left()))
        try:
            done = subprocess.run(
                command,
                env=self.environment(name, settings, **more),
                cwd=folder or self.keep,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as late:
            outputs = [
                part.decode(errors="replace") if isinstance(part, bytes) else part or ""
                for part in (late.stdout, late.stderr)
            ]
            done = subprocess.CompletedProcess(
                command, 124, outputs[0], f"{outputs[1]}\ndid not end within {seconds:.0f} s"
            )
        if name:
            with open(os.path.join(self.keep, name + ".log"), "w", encoding="utf-8") as file:
                file.write(done.stdout + done.stderr)
        return Run(done.returncode, done.stdout, done.stderr, self.recordings(name))

    def report(self, recording, *arguments):
        return self.call_cli("report", *arguments, recording)

    def json_report(self, recording, *arguments):
        return json.loads(self.report(recording, "--json", *arguments))

    def events(self, recording):
        """Returns the events of a recording in the file's order, each with the name of its function."""
        rows = [json.loads(line) for line in self.call_cli("dump", "--json", recording).splitlines()]
        names = {row["id"]: row["name"] for row in rows if row["record"] == "api"}
        return [{**row, "name": names[row["api"]]} for row in rows if row["record"] == "event"]

    def call_cli(self, *arguments):
        done = subprocess.run(
            [self.cli, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True
        )
        if done.returncode:
            raise ValueError(f"gpumemtrace {arguments[0]}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout
