# SPDX-License-Identifier: MIT
"""Tables of a recording. Any library that knows the Arrow C stream interface reads them."""

from __future__ import annotations

import ctypes
import importlib
import operator

from gpumemtrace import _errors, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable
    from typing import Any, Optional, Union

    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from gpumemtrace._recording import Recording

    Moment = Union[int, datetime.timedelta, None]
    Device = Union[int, str, None]


def _whole(value: object) -> Optional[int]:
    """Returns a whole number of any type, such as numpy's, within 64 bits; None: it is no such number."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return max(_library.ANY + 1, min(number, 2**63 - 1))


def _time_ns(moment: Moment) -> int:
    """Returns nanoseconds since the recording began. None: no limit."""
    if moment is None:
        return _library.ANY
    number = _whole(moment)
    if number is not None:
        return number
    try:
        return ((moment.days * 86400 + moment.seconds) * 1000000 + moment.microseconds) * 1000  # type: ignore[union-attr]
    except AttributeError:
        raise _errors.ArgumentError(
            f"time: {moment!r} is neither nanoseconds since the recording began (int) nor a timedelta"
        ) from None


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    """Returns the two ends of a filter; None: no limit."""
    if value is None:
        return None, None
    if name == "steps" and _whole(value) is not None:
        return value, value + 1
    if isinstance(value, range):
        if value.step != 1:
            raise _errors.ArgumentError(f"{name}: {value!r} has gaps")
        return value.start, value.stop
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return value[0], value[1]
    raise _errors.ArgumentError(f"{name}: {value!r} is not a pair (begin, end); None in it is no limit")


def _step(step: Any) -> int:
    if step is None:
        return _library.ANY
    number = _whole(step)
    if number is None:
        raise _errors.ArgumentError(f"steps: {step!r} is no number of a step")
    return number


def _device(device: Device) -> int:
    if device is None:
        return _library.ANY_DEVICE
    if device == "host":
        return -1
    number = _whole(device)
    # -1 is host memory, -2 the device of events that do not say it.
    if number is not None and -3 < number < 2**15:
        return number
    raise _errors.ArgumentError(f'device: {device!r} is neither a number of a device nor "host"')


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise _errors.InstallationError(f"this needs {package}: pip install {package} ({error})") from error


class Table:
    """Rows of a recording that any Arrow library can read.

    Each reader gets its own pass over the rows, so an object may be used again and again::

        table = recording.table("blocks", device=0)
        pyarrow.table(table)
        polars.DataFrame(table)
        duckdb.sql("select line, sum(size_bytes) from table group by 1")
    """

    __slots__ = ("_arguments", "_options", "_recording", "columns", "name")

    def __init__(
        self,
        recording: Recording,
        name: str,
        columns: Optional[Iterable[str]],
        time: Any,
        steps: Any,
        device: Device,
        layer: Optional[str],
    ) -> None:
        library = _library.get()
        if isinstance(columns, str):
            raise _errors.ArgumentError(f"columns: {columns!r} is one text; give a list of names")
        self._recording = recording
        self.name = name
        self.columns = library.tables.get(name, ()) if columns is None else tuple(columns)
        encoded = [column.encode() for column in self.columns]
        begin_time, end_time = (_time_ns(one) for one in _pair("time", time))
        begin_step, end_step = (_step(one) for one in _pair("steps", steps))
        # The structure borrows these objects.
        self._arguments = (name.encode(), (ctypes.c_char_p * max(len(encoded), 1))(*encoded))
        self._options = _library.Options(
            struct_bytes=ctypes.sizeof(_library.Options),
            columns=None if columns is None else self._arguments[1],
            column_count=len(encoded),
            begin_time_ns=begin_time,
            end_time_ns=end_time,
            begin_step=begin_step,
            end_step=end_step,
            device=_device(device),
            layer=None if layer is None else layer.encode(),
        )
        # A wrong name is reported here, and not inside of the library that reads the table.
        error = ctypes.create_string_buffer(_library.ERROR_BYTES)
        status = library.check(self._arguments[0], ctypes.byref(self._options), error, _library.ERROR_BYTES)
        _library.check(status, error)

    def __repr__(self) -> str:
        return f"<gpumemtrace.Table {self.name} of {self._recording.path}: {', '.join(self.columns)}>"

    def _open_stream(self) -> int:
        """Returns the address of a new stream."""
        library = _library.get()
        address: int = library.new_stream()
        if not address:
            raise _errors.OutOfMemoryError("out of memory")
        error = ctypes.create_string_buffer(_library.ERROR_BYTES)
        try:
            with self._recording._lock:
                handle = self._recording._handle_or_raise()
                status = library.stream(
                    handle, self._arguments[0], ctypes.byref(self._options), address, error, _library.ERROR_BYTES
                )
            _library.check(status, error)
        except BaseException:
            library.free_stream(address)
            raise
        return address

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns a new stream of this table, as the Arrow PyCapsule interface says. Its schema is always its own."""
        library = _library.get()
        return library.new_capsule(self._open_stream(), _library.CAPSULE_NAME, library.destructor)

    def to_pyarrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table, without a copy. Needs pyarrow 14 or later."""
        return _needed("pyarrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars.DataFrame. Texts become categoricals. Needs polars 1.3 or later."""
        frame: polars.DataFrame = _needed("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas.DataFrame. Needs pandas and pyarrow.

        Texts become categoricals. Integers that may be unknown become pandas' nullable integers (``Int64``), so they
        stay exact.
        """
        nullable_dtype = _needed("pandas").api.types.pandas_dtype
        series = _needed("pandas").Series
        types = _needed("pyarrow").types
        table = self.to_pyarrow()
        nullable = [field.name for field in table.schema if field.nullable and types.is_integer(field.type)]
        frame = table.drop_columns(nullable).to_pandas() if nullable else table.to_pandas()
        for name in nullable:
            # Names such as "uint32": pandas has a nullable type "UInt32" for each.
            kind = str(table.schema.field(name).type).replace("int", "Int").replace("uInt", "UInt")
            frame[name] = series(nullable_dtype(kind).__from_arrow__(table.column(name)), index=frame.index)
        ordered: pandas.DataFrame = frame[list(table.schema.names)]
        return ordered
