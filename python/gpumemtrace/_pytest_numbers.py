# SPDX-License-Identifier: MIT
"""The numbers of phases, read from snapshots of the recording that the process itself is making.

The recorder writes all events that happened before the call into the snapshot, so the numbers are exact to the byte.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
import subprocess
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Optional

import gpumemtrace
from gpumemtrace import _program

_PATIENCE_S = 60.0


class NotReadable(Exception):
    """The numbers cannot be read. The text says why."""


@dataclass(frozen=True)
class Usage:
    """The memory of a GPU during a part of the test."""

    begin_bytes: int = 0  # held when the stretch began
    peak_bytes: int = 0  # the most that was held at once in the stretch
    live_bytes: int = 0  # held at the end of the stretch, or now
    allocated_bytes: int = 0  # the sum of all allocations in the stretch
    allocations: int = 0
    frees: int = 0

    @property
    def peak_above_begin_bytes(self) -> int:
        return self.peak_bytes - self.begin_bytes

    @property
    def left_bytes(self) -> int:
        """The growth from the beginning to the end. Below 0 if more was freed than allocated."""
        return self.live_bytes - self.begin_bytes


@dataclass(frozen=True)
class Row:
    """The numbers of one layer on one GPU in a phase."""

    device: int
    layer: Optional[str]  # None: what the program uses
    usage: Usage
    begin_ns: int  # time of the phase's begin
    peak_ns: int
    end_ns: int


@dataclass(frozen=True)
class Phase:
    name: str
    begin_ns: int
    rows: tuple[Row, ...]

    def find(self, layer: Optional[str], device: Optional[int]) -> list[Row]:
        """Returns the rows of the layer, in order of the GPUs; only that of `device` if it is given."""
        rows = [row for row in self.rows if row.layer == layer and device in (None, row.device)]
        return sorted(rows, key=lambda row: row.device)


def _run(arguments: Sequence[str]) -> str:
    # The program must not be recorded, and must not take the options of the recorder.
    environment = {name: text for name, text in os.environ.items() if name not in ("LD_PRELOAD", "GPUMEMTRACE_OPTIONS")}
    try:
        done = subprocess.run(
            [_program.find(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    except OSError as error:
        raise NotReadable(f"gpumemtrace does not start: {error.strerror}") from None
    if done.returncode and not done.stdout:
        raise NotReadable(done.stderr.decode("utf-8", "replace").strip() or "gpumemtrace failed")
    return done.stdout.decode("utf-8", "replace")


def read_reports(paths: Sequence[str], *options: str) -> list[dict[str, Any]]:
    """Returns the reports on the recordings that can be read."""
    if not paths:
        return []
    return [json.loads(line) for line in _run(["report", "--json", *options, "--", *paths]).splitlines()]


def _read_snapshot(path: str, phase: Optional[str]) -> list[dict[str, Any]]:
    """Returns the report on a copy of the recording; if possible, only on one phase."""
    options = ["--limit=1", "--native=none"]
    if phase is not None:
        try:
            return read_reports([path], f"--phase={phase}", *options)
        except NotReadable:
            pass  # It has no such phase. The whole report says which snapshot it is, and more about a broken file.
    return read_reports([path], *options)


def phases_of(report: dict[str, Any]) -> list[Phase]:
    """Returns the phases of the program, by their begin, that are counted.

    A report on one phase (``report --phase``) has only that one.
    """
    if "phases" not in report:
        memory = report["memory"]
        return [] if memory is None else [_phase(report["phase"], report["from_ns"], report["until_ns"], memory)]
    return [
        _phase(phase["name"], phase["begin_ns"], phase["end_ns"], phase["memory"])
        for phase in report["phases"]
        if phase["source"] == "program" and phase["memory"] is not None
    ]


def why_incomplete(report: dict[str, Any]) -> Optional[str]:
    """Returns the first remark of a report on a recording in which events are missing, or None."""
    return None if report["complete"] else next(iter(report["remarks"]), "events are missing")


def _phase(name: str, begin_ns: int, end_ns: int, memory: list[dict[str, Any]]) -> Phase:
    rows = [
        Row(
            device=row["device"],
            layer=row["layer"],
            usage=Usage(
                row["begin_bytes"],
                row["peak_bytes"],
                row["end_bytes"],
                row["alloc_bytes"],
                row["alloc_count"],
                row["free_count"],
            ),
            begin_ns=begin_ns,
            peak_ns=row["peak_ns"],
            end_ns=end_ns,
        )
        for row in memory
        if row["device"] is not None and row["device"] >= 0
    ]
    return Phase(name, begin_ns, tuple(rows))


@dataclass(frozen=True)
class Snapshot:
    """A copy of the recording. Without a recording there is no path, and each phase has no memory."""

    path: Optional[str]
    phases: list[Phase]  # all of them, or the one that was asked for
    why_incomplete: Optional[str] = None  # events are missing, so the numbers may be wrong

    def find(self, name: str) -> Phase:
        """Returns the newest phase of this name."""
        for phase in reversed(self.phases):
            if phase.name == name:
                return phase
        if self.path is None:
            return Phase(name, 0, ())
        raise NotReadable(f"the recording has no numbers of {name}; it may be too large, or compacted")


class Recording:
    """The recording of this process. A forked child makes its own, with its first CUDA call."""

    def __init__(self, folder: Optional[str]) -> None:
        self._folder = folder  # None: pytest was started under the recorder by the user
        self._numbers = itertools.count(1)
        self._paths: dict[int, str] = {}  # by process

    def find(self) -> Optional[str]:
        """Returns the file, or None if the process has made no CUDA call. The first call makes the file."""
        process = os.getpid()
        if self._folder is None and "writer=lazy" in os.environ.get("GPUMEMTRACE_OPTIONS", ""):
            raise NotReadable("the option writer=lazy keeps events in memory, where they cannot be read; leave it out")
        if process not in self._paths:
            path = self._find_in_folder(process) if self._folder else find_open() or self._find_in_list(process)
            if path is None:
                return None
            self._paths[process] = path
        return self._paths[process]

    def _find_in_folder(self, process: int) -> Optional[str]:
        pattern = os.path.join(glob.escape(self._folder or ""), f"gpumemtrace.*.{process}.*gmt.gz")
        found = [path for path in glob.glob(pattern) if is_recording(path)]
        return max(found, key=os.path.getmtime) if found else None

    def _find_in_list(self, process: int) -> Optional[str]:
        for row in json.loads(_run(["ps", "--json"]))["processes"]:
            if row["pid"] == process:
                return str(row["file"])
        return None

    @contextmanager
    def snapshot(self, phase: Optional[str] = None) -> Iterator[Snapshot]:
        """Yields a copy of the recording up to now, and removes it.

        With the name of a phase, only the newest phase of this name is read. That takes much less time.
        """
        path = self.find()
        if path is None:
            yield Snapshot(None, [])
            return
        copy = self._copy(path, phase)
        try:
            yield copy
        finally:
            os.unlink(copy.path or "")

    def _copy(self, path: str, phase: Optional[str]) -> Snapshot:
        if not is_recording(path):
            raise NotReadable(f"the name of the recording does not end in .gmt.gz: {path}")
        pattern = glob.escape(path[: -len(".gmt.gz")]) + ".snapshot-*.gmt.gz"
        name = f"pytest-{os.getpid()}-{next(self._numbers)}"
        before = set(glob.glob(pattern))
        end = time.monotonic() + _PATIENCE_S
        pause_s = 0.0002
        # If another thread began the recording, a mark writes the phases that this thread has open.
        gpumemtrace.mark(name)
        gpumemtrace.snapshot(name)
        while time.monotonic() < end:
            for copy in set(glob.glob(pattern)) - before:
                reports = _read_snapshot(copy, phase)
                # Another thread or a user may have asked for a snapshot too.
                if reports and any(note.endswith(f": {name}") for note in reports[0]["notes"]):
                    return Snapshot(copy, phases_of(reports[0]), why_incomplete(reports[0]))
                before.add(copy)
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.02)
        raise NotReadable(f"the recorder wrote no snapshot of {path} in {_PATIENCE_S:.0f} s")


def is_recording(path: str) -> bool:
    """Returns whether the name is that of a recording, and not of a snapshot or an unfinished file."""
    name = os.path.basename(path)
    return name.endswith(".gmt.gz") and ".snapshot-" not in name and not name.startswith(".")


def find_open() -> Optional[str]:
    """Returns the recording that a thread of this process has open for writing, or None.

    The recorder's own thread has a table of descriptors for itself. It opens the file before the first CUDA call that
    allocates returns. `gpumemtrace ps` lists the process a little later.
    """
    for path in glob.glob("/proc/self/task/*/fd/*"):
        try:
            file = os.readlink(path)
            if not is_recording(file):
                continue
            with open(path.replace("/fd/", "/fdinfo/"), encoding="ascii") as about:
                flags = next(line for line in about if line.startswith("flags:"))
        except (OSError, StopIteration):
            continue  # the thread or its descriptor has ended meanwhile
        if int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY:
            return file
    return None


def recordings_in(folder: str) -> list[str]:
    return sorted(path for path in glob.glob(os.path.join(glob.escape(folder), "*.gmt.gz")) if is_recording(path))


def total(rows: Sequence[Row]) -> Usage:
    """Returns the sums over the GPUs. The peaks of two GPUs may be at different times."""
    usages = [row.usage for row in rows]
    return Usage(
        sum(usage.begin_bytes for usage in usages),
        sum(usage.peak_bytes for usage in usages),
        sum(usage.live_bytes for usage in usages),
        sum(usage.allocated_bytes for usage in usages),
        sum(usage.allocations for usage in usages),
        sum(usage.frees for usage in usages),
    )


class Stretch:
    """The numbers of a stretch of the test. Each attribute reads the recording, about a tenth of a second.

    The numbers of an open stretch are those up to now. `usage()` reads all numbers of one moment.
    """

    def __init__(self, recording: Recording, name: str) -> None:
        self._recording = recording
        self._name = name

    def _phase_name(self) -> str:
        return self._name

    def _read(self) -> Phase:
        name = self._phase_name()
        with self._recording.snapshot(name) as snapshot:
            return snapshot.find(name)

    def usage(self, device: Optional[int] = None, layer: Optional[str] = None) -> Usage:
        """Returns the numbers of one GPU, or the sums over all."""
        return total(self._read().find(layer, device))

    @property
    def devices(self) -> dict[int, Usage]:
        """The numbers of each GPU that holds memory or did."""
        return {row.device: row.usage for row in self._read().find(None, None)}

    @property
    def begin_bytes(self) -> int:
        return self.usage().begin_bytes

    @property
    def peak_bytes(self) -> int:
        return self.usage().peak_bytes

    @property
    def live_bytes(self) -> int:
        return self.usage().live_bytes

    @property
    def allocated_bytes(self) -> int:
        return self.usage().allocated_bytes

    @property
    def allocations(self) -> int:
        return self.usage().allocations

    @property
    def peak_above_begin_bytes(self) -> int:
        return self.usage().peak_above_begin_bytes

    @property
    def left_bytes(self) -> int:
        return self.usage().left_bytes


class OpenPhase:
    """Knows the phase that is open now."""

    open_phase: str = ""


class GpuMemory(Stretch):
    """The fixture `gpu_memory`: the numbers since the test function began (in a fixture: since its setup began)."""

    def __init__(self, recording: Recording, test: OpenPhase) -> None:
        super().__init__(recording, "")
        self._test = test
        self._measured = itertools.count(1)

    def _phase_name(self) -> str:
        return self._test.open_phase

    @contextmanager
    def measure(self) -> Iterator[Stretch]:
        """Measures the body of a `with`. Yields its numbers, which may be read inside and after it."""
        name = short_name(self._test.open_phase, f" (measure {next(self._measured)})")
        stretch = Stretch(self._recording, name)
        with gpumemtrace.phase(name):
            yield stretch


def short_name(name: str, end: str = "") -> str:
    """Returns a name for a phase: at most 255 bytes. The middle of a longer name is left out."""
    whole = (name + end).encode("utf-8", "replace")
    if len(whole) <= 250:
        return whole.decode("utf-8", "replace")
    digest = f"{zlib.crc32(name.encode('utf-8', 'replace')):08x}"
    head = name.encode("utf-8", "replace")[:120].decode("utf-8", "ignore")
    tail = name.encode("utf-8", "replace")[-80:].decode("utf-8", "ignore")
    return f"{head}...{digest}...{tail}{end}"
