# SPDX-License-Identifier: MIT
"""Which recordings a user means: files, folders with all that is in them, and patterns such as ``job/*.gmt.gz``."""

from __future__ import annotations

import glob
import os
import sys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Path = Union[str, os.PathLike[str]]
    Paths = Union[Path, Iterable[Path]]

_MOST_DEPTH = 8
_RECORDING, _SUMMARY = b"GMTRACE\n", b"GMTSUMM\n"
# A task of an engine takes as many files as this. One file a task is slow: starting a task takes longer than reading.
TASK_FILES = 64
TASK_BYTES = 32 << 20


@dataclass(frozen=True)
class Found:
    """The recordings, those of them that the user named as files, and one line for each thing that is none."""

    paths: tuple[str, ...]
    named: frozenset[str]
    remarks: tuple[str, ...]
    is_failure: bool  # something that the user named cannot be read

    def explain(self) -> str:
        """Returns why there is no recording, in one line."""
        return "; ".join(("no recording was found", *self.remarks))


def say(text: str) -> None:
    """Prints one line for the user on stderr, without characters that command a terminal."""
    plain = "".join(one if one.isprintable() else "\\x%02x" % ord(one) for one in text)
    print(f"gpumemtrace: warning: {plain}", file=sys.stderr, flush=True)


def _kind(path: str) -> Optional[bytes]:
    """Returns the first bytes of the content. None: the file is neither a recording nor a summary."""
    try:
        with open(path, "rb") as file:
            start = zlib.decompressobj(31).decompress(file.read(512), 8)
    except (OSError, zlib.error):
        return None
    return start if start in (_RECORDING, _SUMMARY) else None


def _walk(folder: str, depth: int, failures: list[str]) -> Iterable[str]:
    """Yields the files in a folder and its folders. Hidden ones and links are left out."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        failures.append(f"{folder}: cannot be opened: {error.strerror}")
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < _MOST_DEPTH:
                yield from _walk(entry.path, depth + 1, failures)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _expand(path: Path, failures: list[str]) -> Iterable[tuple[str, bool]]:
    """Yields the files that an operand names, each with whether the user named this file."""
    name = os.fspath(path)
    if os.path.isdir(name):
        yield from ((one, False) for one in _walk(name, 0, failures))
    elif os.path.exists(name):
        yield name, True
    elif glob.has_magic(name):
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            failures.append(f"{name}: no file matches")
        for match in matches:
            if os.path.isdir(match):
                yield from ((one, False) for one in _walk(match, 0, failures))
            else:
                yield match, False
    else:
        failures.append(f"{name}: cannot be opened: No such file or directory")


def find(paths: Paths) -> Found:
    """Finds the recordings. A file in a folder counts if its name ends in .gmt.gz or if it begins as a recording."""
    operands = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    failures: list[str] = []
    found: dict[str, bool] = {}
    others: list[str] = []
    summaries: list[str] = []
    for operand in operands:
        for path, is_named in _expand(operand, failures):
            if is_named or path.endswith(".gmt.gz"):
                found[path] = is_named or found.get(path, False)
                continue
            kind = _kind(path)
            if kind == _RECORDING:
                found.setdefault(path, False)
            else:
                (summaries if kind == _SUMMARY else others).append(path)
    remarks = list(failures)
    for left_out, one, many in (
        (
            summaries,
            "summary left out, because tables need the recording",
            "summaries left out, because tables need recordings",
        ),
        (others, "file left out that is no recording", "files left out that are no recordings"),
    ):
        names = sorted(set(left_out) - found.keys())
        if names:
            remarks.append(f"{len(names)} {many if names[1:] else one}: {names[0]}{', ...' if names[1:] else ''}")
    named = frozenset(path for path, is_named in found.items() if is_named)
    return Found(tuple(sorted(found)), named, tuple(remarks), bool(failures))


def tasks(paths: Sequence[str], most_files: int = TASK_FILES) -> list[tuple[str, ...]]:
    """Divides files into the tasks of an engine: many small ones in a task, few large ones."""
    done: list[tuple[str, ...]] = []
    task: list[str] = []
    size = 0
    for path in paths:
        try:
            file_bytes = os.path.getsize(path)
        except OSError:
            file_bytes = 0
        if task and (len(task) >= most_files or size + file_bytes > TASK_BYTES):
            done.append(tuple(task))
            task, size = [], 0
        task.append(path)
        size += file_bytes
    if task:
        done.append(tuple(task))
    return done
