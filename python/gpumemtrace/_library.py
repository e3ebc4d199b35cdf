# SPDX-License-Identifier: MIT
"""The C library libgpumemtrace-read: finds it, loads it once, and calls it (include/gpumemtrace-read.h)."""

from __future__ import annotations

import ctypes
import os
import platform

from gpumemtrace import _errors, _program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, Optional

SONAME = "libgpumemtrace-read.so.1"
HEADER_VERSION = 1002  # GPUMEMTRACE_READ_VERSION: the oldest library that this module can use
ANY = -(2**63)  # GPUMEMTRACE_READ_ANY
ANY_DEVICE = -100  # GPUMEMTRACE_READ_ANY_DEVICE
ERROR_BYTES = 1024

# A capsule borrows its name, so the name must live as long as the module.
CAPSULE_NAME = ctypes.c_char_p(b"arrow_array_stream")

# enum gpumemtrace_read_status
ERRORS: dict[int, type[_errors.Error]] = {
    1: _errors.ArgumentError,
    2: _errors.FileError,
    3: _errors.FormatError,
    4: _errors.NewerError,
    5: _errors.OutOfMemoryError,
}


class Options(ctypes.Structure):
    """struct gpumemtrace_read_options"""

    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("columns", ctypes.POINTER(ctypes.c_char_p)),
        ("column_count", ctypes.c_size_t),
        ("begin_time_ns", ctypes.c_int64),
        ("end_time_ns", ctypes.c_int64),
        ("begin_step", ctypes.c_int64),
        ("end_step", ctypes.c_int64),
        ("device", ctypes.c_int32),
        ("layer", ctypes.c_char_p),
        ("batch_rows", ctypes.c_uint32),
    ]


# int64_t read(void *user, void *buffer, size_t bytes)
READ = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Input(ctypes.Structure):
    """struct gpumemtrace_read_input"""

    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("user", ctypes.c_void_p),
        ("read", READ),
        ("read_at", ctypes.c_void_p),
    ]


def places(program: str) -> Iterator[str]:
    """Yields the paths where the library may be: those of the installation that contains this package, then those next
    to the program. The last one is the bare name, which the loader looks up."""
    folder = os.path.dirname(os.path.abspath(__file__))
    # The folder of a wheel, and the prefix of `meson install`: PREFIX/share/gpumemtrace/python/gpumemtrace.
    roots = [folder, os.path.normpath(os.path.join(folder, "..", "..", "..", ".."))]
    roots.append(os.path.dirname(os.path.dirname(os.path.realpath(program))))
    for root in roots:
        # `library` is in a build folder.
        for name in ("lib", f"lib/{platform.machine()}-linux-gnu", "lib64", "library"):
            yield os.path.join(root, name, SONAME)
    yield SONAME


def _load() -> ctypes.CDLL:
    why = ""
    for path in places(_program.find()):
        if os.path.isabs(path) and not os.path.exists(path):
            continue
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            # A library that exists and cannot be loaded explains more than a name that was not found.
            why = why or str(error)
    raise _errors.InstallationError(
        f"cannot load {SONAME}: {_program.why_unsuitable() or f'{why}: install gpumemtrace again'}"
    )


class Library:
    """The functions of the library, with their types."""

    def __init__(self) -> None:
        self._library = _load()
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        version = self._function("version", ctypes.c_int)()
        if not HEADER_VERSION <= version < HEADER_VERSION // 1000 * 1000 + 1000:
            raise _errors.InstallationError(
                f"{SONAME} has version {version}, this package needs {HEADER_VERSION}: install gpumemtrace again"
            )
        self.program_version = self._function("program_version", text)().decode()
        self.open = self._function("open", ctypes.c_int, text, ctypes.POINTER(pointer), text, size)
        self.open_input = self._function(
            "open_input", ctypes.c_int, ctypes.POINTER(Input), ctypes.POINTER(pointer), text, size
        )
        self.close = self._function("close", None, pointer)
        self.warning = self._function("warning", text, pointer, size)
        self.is_complete = self._function("is_complete", ctypes.c_int, pointer)
        self.is_damaged = self._function("is_damaged", ctypes.c_int, pointer)
        self.duration_ns = self._function("duration_ns", ctypes.c_int64, pointer)
        self.table_name = self._function("table_name", text, size)
        self.column_name = self._function("column_name", text, size, size)
        self.check = self._function("check", ctypes.c_int, text, ctypes.POINTER(Options), text, size)
        self.schema = self._function("schema", ctypes.c_int, text, ctypes.POINTER(Options), pointer, text, size)
        self.stream = self._function(
            "stream", ctypes.c_int, pointer, text, ctypes.POINTER(Options), pointer, text, size
        )
        self.new_stream = self._function("new_stream", pointer)
        self.free_stream = self._function("free_stream", None, pointer)
        # The address of the C function: as a Python callback, it would run when the capsule is half destroyed.
        self.destructor = ctypes.cast(self._library.gpumemtrace_read_capsule_destructor, pointer)
        # An object of its own: other packages give ctypes.pythonapi.PyCapsule_New other types.
        self.new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, text, pointer)(
            ("PyCapsule_New", ctypes.pythonapi)
        )
        self.tables = self._read_tables()

    def _function(self, name: str, result: Optional[type], *arguments: type) -> Callable[..., Any]:
        function: Any = getattr(self._library, f"gpumemtrace_read_{name}")
        function.restype = result
        function.argtypes = arguments
        call: Callable[..., Any] = function
        return call

    def _read_tables(self) -> dict[str, tuple[str, ...]]:
        """Returns the names of the tables, each with those of its columns."""

        def names(function: Callable[..., Any], *first: int) -> list[str]:
            found: list[str] = []
            while name := function(*first, len(found)):
                found.append(name.decode())
            return found

        return {name: tuple(names(self.column_name, number)) for number, name in enumerate(names(self.table_name))}


_loaded: list[Library] = []


def get() -> Library:
    """Returns the library, which is loaded at the first call."""
    if not _loaded:
        _loaded.append(Library())
    return _loaded[0]


def check(status: int, error: ctypes.Array[ctypes.c_char]) -> None:
    """Raises the exception for a status of the library, with its text."""
    if status:
        raise ERRORS.get(status, _errors.Error)(error.value.decode("utf-8", "replace"))
