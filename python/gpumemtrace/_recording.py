# SPDX-License-Identifier: MIT
"""Recordings: their tables (by the C library) and reports (by the program)."""

from __future__ import annotations

import _thread
import ctypes
import io
import os

from gpumemtrace import _errors, _library, _program, _streams
from gpumemtrace._tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Iterable, Mapping
    from typing import Any, BinaryIO, Optional, Union

    from gpumemtrace import _results
    from gpumemtrace._tables import Device, Moment

    Path = Union[str, os.PathLike[str]]
    Source = Union[Path, BinaryIO]  # also an address, and any object with read()

# The exit codes of the program with which it also prints a result.
WITH_RESULT = (0, 1, 4)


def _options(options: dict[str, Any]) -> list[str]:
    """Returns options as words: {"max_peak": "2GiB", "strict": True} is --max-peak=2GiB --strict."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not False and one is not None:
                words.append(f"{option}={one}")
    return words


def _error_of(messages: str, code: int) -> _errors.Error:
    """Returns the exception for the program's output on stderr."""
    start = "gpumemtrace: error: "
    lines = [line[len(start) :] for line in messages.splitlines() if line.startswith(start)]
    text = lines[0] if lines else messages.strip().replace("\n", " ") or f"the program gpumemtrace ended with {code}"
    return _errors.ArgumentError(text) if code == 2 else _errors.Error(text)


def _run(verb: str, options: dict[str, Any], *sources: Union[str, _streams.Stream]) -> str:
    """Runs the program and returns its output. Raises an exception for its error."""
    import subprocess

    program = _program.find()
    operands, files = [], []
    for source in sources:
        if isinstance(source, str):
            # A path that begins with `-` would be an option.
            operands.append(os.path.join(".", source) if source.startswith("-") else source)
        else:
            files.append((source.memory_file(), source.name))
            operands.append(f"/proc/self/fd/{files[-1][0].number}")
    try:
        done = subprocess.run(
            [program, verb, *_options(options), *operands],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[file.number for file, _ in files],
        )
    except OSError as error:
        why = _program.why_unsuitable() or f"{program}: {error.strerror}: install gpumemtrace again"
        raise _errors.InstallationError(f"cannot start the program: {why}") from error
    text, messages = (output.decode("utf-8", "replace") for output in (done.stdout, done.stderr))
    for file, name in files:
        text = _with_name(text, file.number, _json_text(name))
        messages = _with_name(messages, file.number, name)
    if done.returncode not in WITH_RESULT or (done.returncode and not text):
        raise _error_of(messages, done.returncode)
    return text


def _with_name(text: str, number: int, name: str) -> str:
    """Returns the program's output with the name of the stream instead of the name of its file in memory."""
    import re

    return re.sub(rf"/proc/self/fd/{number}\b", lambda _: name, text)


def _with_safe_name(page: str, stream: Optional[_streams.Stream]) -> str:
    """Returns a page with the name of the stream, escaped for HTML and JSON."""
    import re

    if stream is None:
        return page
    return re.sub(r"/proc/self/fd/\d+\b", lambda _: re.sub(r"[^\w./:@+=,~ -]", "_", stream.name), page)


def _json_text(text: str) -> str:
    """Returns a text as it stands between the quotes of JSON."""
    import json

    return json.dumps(text)[1:-1]


def _run_json(verb: str, options: dict[str, Any], *sources: Union[str, _streams.Stream]) -> dict[str, Any]:
    import json

    text = _run(verb, {"json": True, **options}, *sources)
    try:
        result: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise _errors.Error(f"gpumemtrace {verb}: the result is no JSON: {error}") from error
    return result


class Page:
    """The page of `gpumemtrace report --html`. A notebook shows it in a frame."""

    __slots__ = ("height", "html")

    def __init__(self, html: str, height: int) -> None:
        self.html = html  # the whole page
        self.height = height  # of the frame, in pixels

    def _repr_html_(self) -> str:
        import html

        # The page has scripts and styles, which must not meet those of the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 0" title="gpumemtrace"></iframe>'
        )

    def save(self, path: Path) -> None:
        """Writes the page to a file."""
        with io.open(path, "w", encoding="utf-8") as file:
            file.write(self.html)


def _text_of(path: Any) -> str:
    """Returns the text of a path."""
    try:
        name = os.fspath(path)
    except TypeError as error:
        raise TypeError(f"{path!r} is no path, no address and no file object with read()") from error
    if not isinstance(name, str):
        raise _errors.ArgumentError(f"{name!r} is no text: give the path as str or os.PathLike[str]")
    if "\0" in name:
        raise _errors.FileError(f"{name!r}: a path has no NUL")
    return name


def _load_file(path: str) -> Optional[int]:
    """Loads the recording in a file, and returns the library's handle."""
    handle = ctypes.c_void_p()
    error = ctypes.create_string_buffer(_library.ERROR_BYTES)
    status = _library.get().open(os.fsencode(path), ctypes.byref(handle), error, _library.ERROR_BYTES)
    _library.check(status, error)
    return handle.value


class Recording:
    """An open recording. Use it as a context manager, or close it; tables that were read stay valid."""

    __slots__ = ("_handle", "_lock", "_stream", "path", "warnings")

    def __init__(self, source: Source, storage_options: Optional[Mapping[str, Any]] = None) -> None:
        self._handle: Optional[int] = None
        # Held by each call of the library, so that close() in another thread cannot free what the call uses.
        self._lock = _thread.allocate_lock()
        self._stream = _streams.stream_of(source, storage_options)
        # Of a file object and of an address, its name.
        self.path: str
        if self._stream:
            self.path = self._stream.name
            self._handle = _streams.load(self._stream)
        else:
            self.path = _text_of(source)
            self._handle = _load_file(self.path)
        # The program's warnings about the recording: damage, a process that still records.
        self.warnings = self._read_warnings()

    def _read_warnings(self) -> tuple[str, ...]:
        library = _library.get()
        found: list[str] = []
        while text := library.warning(self._handle, len(found)):
            found.append(text.decode("utf-8", "replace"))
        return tuple(found)

    def _handle_or_raise(self) -> int:
        """Returns the handle. The caller holds `_lock`."""
        if self._handle is None:
            raise _errors.Error(f"{self.path}: the recording is closed")
        return self._handle

    def close(self) -> None:
        """Closes the recording. Arrays and frames that were made from its tables stay valid."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                _library.get().close(handle)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[types.TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # While the interpreter ends, the process gives the memory back anyway.
        if getattr(self, "_handle", None) is not None and _library is not None:
            self.close()

    def __repr__(self) -> str:
        return f"<gpumemtrace.Recording {self.path}{' (closed)' if self._handle is None else ''}>"

    @property
    def _operand(self) -> Union[str, _streams.Stream]:
        """The file that the program reads."""
        return self._stream or self.path

    @property
    def is_complete(self) -> bool:
        """Whether the recording has its end and lacks no event."""
        with self._lock:
            return bool(_library.get().is_complete(self._handle_or_raise()))

    @property
    def is_damaged(self) -> bool:
        """Whether only a part of the file could be read. `warnings` says which."""
        with self._lock:
            return bool(_library.get().is_damaged(self._handle_or_raise()))

    @property
    def duration_ns(self) -> int:
        """Nanoseconds from the beginning to the end of the recording."""
        with self._lock:
            return int(_library.get().duration_ns(self._handle_or_raise()))

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The names of all tables, each with the names of its columns."""
        return dict(_library.get().tables)

    def table(
        self,
        name: str,
        *,
        columns: Optional[Iterable[str]] = None,
        time: Optional[tuple[Moment, Moment]] = None,
        steps: Union[int, range, tuple[Optional[int], Optional[int]], None] = None,
        device: Device = None,
        layer: Optional[str] = None,
    ) -> Table:
        """Returns a table. The filters select rows before any row is made.

        ``columns``: names of columns, in the wanted order. ``time``: (begin, end), each in nanoseconds since the
        recording began or as a timedelta: rows with begin <= time < end. ``steps``: (first, end), a range, or the
        number of one step. None in a pair is no limit. ``device``: its ordinal, or "host". ``layer``: "cuda",
        "torch" ...
        """
        self._handle_or_raise()
        return Table(self, name, columns, time, steps, device, layer)

    def report(self, **options: Any) -> _results.Report:
        """Returns what `gpumemtrace report` says. Options as on the command line: report(until="step:12")."""
        from gpumemtrace import _results

        return _results.report_of(_run_json("report", options, self._operand))

    def leaks(self, **options: Any) -> _results.Leaks:
        """Returns what `gpumemtrace leaks` finds. Options as on the command line: leaks(definition="exit")."""
        from gpumemtrace import _results

        return _results.leaks_of(_run_json("leaks", options, self._operand))

    def check(self, **limits: Any) -> _results.Check:
        """Returns the verdict of `gpumemtrace check`. Limits as on the command line: check(max_peak="2GiB")."""
        from gpumemtrace import _results

        return _results.check_of(_run_json("check", limits, self._operand))

    def diff(self, new: Union[Recording, Source], **options: Any) -> _results.Diff:
        """Compares this recording with a newer one (`gpumemtrace diff THIS NEW`)."""
        from gpumemtrace import _results

        other = new._operand if isinstance(new, Recording) else _streams.stream_of(new, None) or _text_of(new)
        return _results.diff_of(_run_json("diff", options, self._operand, other))

    def html(self, *, height: int = 720, **options: Any) -> Page:
        """Returns the page of `gpumemtrace report --html`. As the result of a notebook's cell, it is shown."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="gpumemtrace-") as folder:
            path = os.path.join(folder, "page.html")
            _run("report", {"html": path, **options}, self._operand)
            with io.open(path, encoding="utf-8") as file:
                return Page(_with_safe_name(file.read(), self._stream), height)


def open(source: Source, *, storage_options: Optional[Mapping[str, Any]] = None) -> Recording:
    """Opens a recording. Raises gpumemtrace.Error if it cannot be read.

    ``source``: a path; an address such as "s3://bucket/train.gmt.gz", which fsspec opens with ``storage_options``; or a
    file object, of which only ``read`` is needed. Its bytes from its position on are the recording. An exception of its
    ``read`` is raised as it is. Keep it open for ``report``, ``leaks``, ``check``, ``diff`` and ``html``, which read it
    again; bytes of an object that cannot seek are kept in memory for them.

    A recording that is damaged or cut is opened up to the damage: see ``Recording.is_damaged`` and
    ``Recording.warnings``.
    """
    return Recording(source, storage_options)
