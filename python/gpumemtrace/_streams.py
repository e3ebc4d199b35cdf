# SPDX-License-Identifier: MIT
"""Recordings that are no files of this machine: file objects, and addresses such as s3://bucket/train.gmt.gz.

The C library takes the bytes while they arrive. Nothing is written to a disk.
"""

from __future__ import annotations

import ctypes
import os
import re

from gpumemtrace import _errors, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    Options = Optional[Mapping[str, Any]]

CHUNK_BYTES = 256 << 10
# Chunks that wait for the loading thread. It starts when as many are there, so a small recording arrives first, and
# slow connections do not hold the lock of the C library.
_CHUNKS_AHEAD = 16
# Of each request to an object store. Larger ones are faster, and take more memory.
_BLOCK_BYTES = 16 << 20
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")


def is_address(path: str) -> bool:
    """Returns whether a path is an address that fsspec opens."""
    return _ADDRESS.match(path) is not None


def one_line(error: BaseException) -> str:
    """Returns the text of another package's exception in one line, or the name of its class."""
    return " ".join(str(error).split()) or type(error).__name__


def filesystem(address: str, options: Options) -> tuple[Any, str]:
    """Returns the fsspec file system of an address, and the path in it."""
    try:
        import fsspec  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise _errors.InstallationError(f"{address}: this needs fsspec: pip install fsspec ({error})") from error
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(address, **(options or {}))
        return found
    except ImportError as error:
        raise _errors.InstallationError(f"{address}: {one_line(error)}") from error
    except Exception as error:
        raise _errors.ArgumentError(f"{address}: {one_line(error)}") from error


def _memory_file() -> int:
    """Returns the descriptor of a new file in memory, which has no name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gpumemtrace")
    # Pythons that were built for an older C library lack the function.
    libc = ctypes.CDLL(None, use_errno=True)
    number: int = libc.memfd_create(b"gpumemtrace", 1) if hasattr(libc, "memfd_create") else -1
    if number < 0:
        raise _errors.Error("this system has no files in memory (memfd_create): write the recording to a file")
    return number


class MemoryFile:
    """A file in memory. The program reads it as /proc/self/fd/NUMBER."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = _memory_file()

    def write(self, chunk: bytes) -> None:
        left = memoryview(chunk)
        while left:
            left = left[os.write(self.number, left) :]

    def chunks(self) -> Iterator[bytes]:
        offset = 0
        while chunk := os.pread(self.number, CHUNK_BYTES, offset):
            offset += len(chunk)
            yield chunk

    def __del__(self) -> None:
        if getattr(self, "number", -1) >= 0:
            os.close(self.number)


class Stream:
    """The bytes of a recording, which can be read more than once. `name` is for messages."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def chunks(self) -> Iterator[bytes]:
        """Yields all bytes. Raises what the file object raises."""
        raise NotImplementedError

    def memory_file(self) -> MemoryFile:
        """Returns all bytes as a file in memory."""
        file = MemoryFile()
        for chunk in self.chunks():
            file.write(chunk)
        return file


def _read_all(file: Any, name: str) -> Iterator[bytes]:
    while True:
        chunk = file.read(CHUNK_BYTES)
        if isinstance(chunk, str):
            raise _errors.ArgumentError(f"{name}: the file object gives text: open the file in mode 'rb'")
        if chunk is None:
            raise BlockingIOError(f"{name}: the file object does not block, and has no bytes yet")
        if not chunk:
            return
        yield bytes(chunk)


class FileStream(Stream):
    """A file object, from its position on. It stays the caller's."""

    __slots__ = ("_file", "_is_begun", "_kept", "_start")

    def __init__(self, file: Any) -> None:
        name = getattr(file, "full_name", None) or getattr(file, "name", None)
        super().__init__(name if isinstance(name, str) and name else f"<{type(file).__name__}>")
        self._file = file
        self._is_begun = False
        # The bytes of an object that cannot seek, once all were read. Reports need them again.
        self._kept: Optional[MemoryFile] = None
        self._start: Optional[int] = None
        if getattr(file, "seekable", bool)():
            self._start = file.tell()

    def chunks(self) -> Iterator[bytes]:
        if self._kept:
            yield from self._kept.chunks()
            return
        if self._start is not None:
            self._file.seek(self._start)
            yield from _read_all(self._file, self.name)
            return
        if self._is_begun:
            raise _errors.FileError(f"{self.name}: the file object cannot seek, and a part of it was read before")
        self._is_begun = True
        kept = MemoryFile()
        for chunk in _read_all(self._file, self.name):
            kept.write(chunk)
            yield chunk
        self._kept = kept

    def memory_file(self) -> MemoryFile:
        return self._kept or super().memory_file()


class AddressStream(Stream):
    """An address that fsspec opens, each time that it is read."""

    __slots__ = ("_options",)

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address)
        self._options = options

    def _open(self) -> Any:
        system, path = filesystem(self.name, self._options)
        protocols = system.protocol if isinstance(system.protocol, (tuple, list)) else (system.protocol,)
        options: dict[str, Any] = {}
        if {"http", "https"} & set(protocols):
            options["block_size"] = 0  # one request: servers need not know ranges
        elif "default_block_size" not in (self._options or {}):
            options["block_size"] = _BLOCK_BYTES
        try:
            return system.open(path, "rb", **options)
        except FileNotFoundError as error:
            raise _errors.FileError(f"{self.name}: cannot be opened: there is no such object") from error
        except Exception as error:
            raise _errors.FileError(f"{self.name}: cannot be opened: {one_line(error)}") from error

    def chunks(self) -> Iterator[bytes]:
        with self._open() as file:
            yield from _read_all(file, self.name)


def stream_of(source: Any, options: Options) -> Optional[Stream]:
    """Returns the stream that a user means. None: it is a path."""
    if isinstance(source, Stream):
        return source
    if isinstance(source, str):
        return AddressStream(source, options) if is_address(source) else None
    if callable(getattr(source, "read", None)):
        return FileStream(source)
    # An OpenFile of fsspec is no file object yet.
    if hasattr(source, "fs") and hasattr(source, "full_name"):
        return AddressStream(source.full_name, {**source.fs.storage_options, **(options or {})})
    return None


class _Loading:
    """A recording that is loaded while its bytes arrive.

    The caller's thread reads the file object, so its exceptions and Ctrl-C arrive where the caller expects them. A
    thread of its own calls the C library, which asks for the bytes (`_give`).
    """

    def __init__(self, name: str) -> None:
        import collections
        import threading

        self._name = name.encode("utf-8", "replace").replace(b"\0", b"?")
        self._changed = threading.Condition()
        self._chunks: collections.deque[bytes] = collections.deque()
        self._offset = 0  # in the first chunk
        self._is_over = self._is_failed = self._is_loaded = False
        self._status = 0
        self._handle = ctypes.c_void_p()
        self._error = ctypes.create_string_buffer(_library.ERROR_BYTES)
        self._thread = threading.Thread(target=self._load, name="gpumemtrace-load", daemon=True)
        self._is_started = False

    def _give(self, _: Any, buffer: int, size: int) -> int:
        with self._changed:
            while not self._chunks and not self._is_over:
                self._changed.wait()
            if self._is_failed:
                return -1
            if not self._chunks:
                return 0
            part = self._chunks[0][self._offset : self._offset + size]
            self._offset += len(part)
            if self._offset == len(self._chunks[0]):
                self._chunks.popleft()
                self._offset = 0
                self._changed.notify_all()
        ctypes.memmove(buffer, part, len(part))
        return len(part)

    def _load(self) -> None:
        library = _library.get()
        give = _library.READ(self._give)
        input = _library.Input(struct_bytes=ctypes.sizeof(_library.Input), name=self._name, read=give)
        handle = ctypes.c_void_p()
        status = library.open_input(ctypes.byref(input), ctypes.byref(handle), self._error, _library.ERROR_BYTES)
        with self._changed:
            self._is_loaded = True
            self._status = status
            if not self._is_failed:
                self._handle = handle
            self._changed.notify_all()
        # The caller has gone away.
        if self._is_failed and handle:
            library.close(handle)

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._thread.start()

    def add(self, chunk: bytes) -> bool:
        """Returns False if the library needs no more bytes."""
        with self._changed:
            self._chunks.append(chunk)
            self._changed.notify_all()
            if len(self._chunks) < _CHUNKS_AHEAD:
                return not self._is_loaded
        self._start()
        with self._changed:
            while len(self._chunks) >= _CHUNKS_AHEAD and not self._is_loaded:
                self._changed.wait()
            return not self._is_loaded

    def end(self) -> int:
        """Waits until the recording is loaded. Returns its handle."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._start()
        with self._changed:
            while not self._is_loaded:
                self._changed.wait()
            _library.check(self._status, self._error)
            handle, self._handle = self._handle, ctypes.c_void_p()
            return handle.value or 0

    def abandon(self) -> None:
        """Ends the loading, because the bytes cannot be read."""
        with self._changed:
            self._is_over = self._is_failed = True
            self._changed.notify_all()
            handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            _library.get().close(handle)


def load(stream: Stream) -> int:
    """Loads the recording of a stream, and returns the library's handle."""
    loading = _Loading(stream.name)
    chunks = stream.chunks()
    try:
        for chunk in chunks:
            if not loading.add(chunk):
                break
        return loading.end()
    except BaseException:
        loading.abandon()
        raise
    finally:
        chunks.close()  # type: ignore[attr-defined]
