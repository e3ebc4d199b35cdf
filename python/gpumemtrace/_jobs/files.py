# SPDX-License-Identifier: MIT
"""Finds the recordings that a user names: files, folders with their content, and patterns such as ``job/*.gmt.gz``.

Addresses such as s3://bucket/job name objects, prefixes and patterns in the same way (object_store.py).
"""

from __future__ import annotations

import glob
import os
import sys
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Optional, Union

from gpumemtrace import _errors, _streams
from gpumemtrace._jobs import object_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpumemtrace._streams import Options

    Path = Union[str, os.PathLike[str]]
    Paths = Union[Path, BinaryIO, Iterable[Union[Path, BinaryIO]]]

_MOST_DEPTH = 8
_START_BYTES = 512
_RECORDING, _SUMMARY = b"GMTRACE\n", b"GMTSUMM\n"
# Maximum size of a task for a data engine. One file in each task is slow: starting a task takes longer than reading.
TASK_FILES = 64
TASK_BYTES = 32 << 20


@dataclass(frozen=True)
class Found:
    """The recordings, and one remark for each other file or failure. `named`: paths that the user named as files."""

    paths: tuple[str, ...]
    named: frozenset[str]
    remarks: tuple[str, ...]
    is_failure: bool  # something that the user named cannot be read
    streams: tuple[_streams.Stream, ...] = ()  # file objects that the user gave
    sizes: Mapping[str, int] = field(default_factory=dict)  # of objects in stores

    def only_paths(self) -> tuple[str, ...]:
        """Returns the paths and addresses, for other processes. Raises ArgumentError if there are file objects."""
        if self.streams:
            raise _errors.ArgumentError(
                f"{self.streams[0]}: other processes read the recordings: give paths or addresses, not file objects"
            )
        return self.paths

    def explain(self) -> str:
        """Returns why there is no recording, in one line."""
        return "; ".join(("no recording was found", *self.remarks))


def warn(text: str) -> None:
    """Prints a warning in one line on stderr, without control characters for a terminal."""
    plain = "".join(one if one.isprintable() else "\\x%02x" % ord(one) for one in text)
    print(f"gpumemtrace: warning: {plain}", file=sys.stderr, flush=True)


def _start_of(path: str, options: Options) -> bytes:
    if _streams.is_address(path):
        return object_store.start_of(path, options, _START_BYTES)
    with open(path, "rb") as file:
        return file.read(_START_BYTES)


def _kind(path: str, options: Options) -> Optional[bytes]:
    """Returns the first bytes of the content. None: the file is neither a recording nor a summary."""
    try:
        start = zlib.decompressobj(31).decompress(_start_of(path, options), 8)
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
    """Yields the files that an operand names, and for each file whether the user named it by its own path."""
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


def _expand_address(
    address: str, options: Options, failures: list[str], sizes: dict[str, int]
) -> Iterable[tuple[str, bool]]:
    """The same as `_expand`, in an object store."""
    try:
        found, is_named = object_store.expand(address, options)
    except _errors.FileError as error:
        failures.append(str(error))
        return
    sizes.update(found)
    yield from ((one, is_named) for one in found)


def _is_one(paths: Any) -> bool:
    """Returns whether this is one path or file object, not several."""
    return isinstance(paths, (str, os.PathLike)) or hasattr(paths, "read") or hasattr(paths, "full_name")


def find(paths: Paths, options: Options = None) -> Found:
    """Finds the recordings. A file in a folder counts if its name ends in .gmt.gz or if it begins as a recording.

    ``options``: storage options, for addresses.
    """
    operands: list[Any] = [paths] if _is_one(paths) else list(paths)  # type: ignore[arg-type]
    failures: list[str] = []
    found: dict[str, bool] = {}
    others: list[str] = []
    summaries: list[str] = []
    streams: list[_streams.Stream] = []
    sizes: dict[str, int] = {}
    for operand in operands:
        stream = _streams.stream_of(operand, options)
        if stream and not isinstance(operand, str):
            streams.append(stream)
            continue
        expanded = _expand_address(stream.name, options, failures, sizes) if stream else _expand(operand, failures)
        for path, is_named in expanded:
            if is_named or path.endswith(".gmt.gz"):
                found[path] = is_named or found.get(path, False)
                continue
            kind = _kind(path, options)
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
        (others, "file left out: not a recording", "files left out: not a recording"),
    ):
        names = sorted(set(left_out) - found.keys())
        if names:
            remarks.append(f"{len(names)} {many if names[1:] else one}: {names[0]}{', ...' if names[1:] else ''}")
    named = frozenset(path for path, is_named in found.items() if is_named)
    return Found(tuple(sorted(found)), named, tuple(remarks), bool(failures), tuple(streams), sizes)


def _size(path: str, sizes: Mapping[str, int]) -> int:
    try:
        return sizes[path] if path in sizes else os.path.getsize(path)
    except OSError:
        return 0


def tasks(
    paths: Sequence[str], most_files: int = TASK_FILES, sizes: Optional[Mapping[str, int]] = None
) -> list[tuple[str, ...]]:
    """Divides files into the tasks of an engine: a task has many small files, or a few large ones."""
    done: list[tuple[str, ...]] = []
    task: list[str] = []
    size = 0
    for path in paths:
        file_bytes = _size(path, sizes or {})
        if task and (len(task) >= most_files or size + file_bytes > TASK_BYTES):
            done.append(tuple(task))
            task, size = [], 0
        task.append(path)
        size += file_bytes
    if task:
        done.append(tuple(task))
    return done
