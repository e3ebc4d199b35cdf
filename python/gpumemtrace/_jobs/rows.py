# SPDX-License-Identifier: MIT
"""Rows of recordings as Arrow batches for data engines, with the same schema for all files.

Engines support different types. So each integer is int64 or int32, and each text is plain UTF-8. Each table begins with
the columns `JOB_COLUMNS`, which tell from which process of a job the rows come.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Optional, Union

from gpumemtrace import _errors, _library, _recording, _streams, _tables
from gpumemtrace._jobs import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from gpumemtrace._recording import Recording
    from gpumemtrace._streams import Options

    Source = Union[str, _streams.Stream]  # a path or address, or a file object

JOB_COLUMNS = ("job", "host", "rank", "attempt")
FILES = "files"  # the table that has one row for each file, also for those that cannot be read
_FILES_COLUMNS = (*JOB_COLUMNS, "path", "state", "message")
_SCHEMA_BYTES = 128  # at least the size of struct ArrowSchema

# Endings of column names, and their units.
UNITS = (
    ("_epoch_ns", "nanoseconds since 1970"),
    ("_ns", "nanoseconds"),
    ("_bytes", "bytes"),
    ("bytes_per_step", "bytes per step"),
)


def arrow() -> Any:
    """Returns the module pyarrow."""
    module = _tables._needed("pyarrow")
    if not hasattr(module.RecordBatchReader, "from_stream"):
        raise _errors.InstallationError(f"this needs pyarrow 15 or later, not {module.__version__}")
    return module


@dataclass(frozen=True)
class Choice:
    """Selects rows and columns. `None`: all. It can be sent to other processes."""

    table: str
    columns: Optional[tuple[str, ...]] = None
    time: Any = None  # as in Recording.table
    steps: Any = None
    device: Any = None
    layer: Optional[str] = None
    place: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # (column of JOB_COLUMNS, its values)

    def wants(self, place: JobPlace) -> bool:
        """Returns whether the rows of a file at this place are wanted."""
        return all(getattr(place, name) in values for name, values in self.place)


@dataclass(frozen=True)
class JobPlace:
    """The process of a job that made the recording. The members after `attempt` identify copies of a recording."""

    job: Optional[str] = None
    host: Optional[str] = None
    rank: Optional[int] = None
    attempt: Optional[int] = None
    pid: int = 0
    start_epoch_ns: int = 0
    recording_id: Optional[str] = None


def names() -> tuple[str, ...]:
    """Returns the names of all tables."""
    return (*_library.get().tables, FILES)


def unit(column: str) -> Optional[str]:
    """Returns the unit of a column, according to its name."""
    return next((unit for ending, unit in UNITS if column.endswith(ending)), None)


def _check(choice: Choice) -> None:
    if choice.table not in names():
        raise _errors.ArgumentError(f"there is no table {choice.table}; tables are {', '.join(names())}")
    known = _all_columns(choice.table)
    for column in choice.columns or ():
        if column not in known:
            raise _errors.ArgumentError(f"table {choice.table} has no column {column}; it has {', '.join(known)}")
    if choice.columns is not None and not choice.columns:
        raise _errors.ArgumentError(f"table {choice.table}: no column is wanted")


def _all_columns(table: str) -> tuple[str, ...]:
    if table == FILES:
        return _FILES_COLUMNS
    return (*JOB_COLUMNS, *(column for column in _library.get().tables[table] if column not in JOB_COLUMNS))


def _own_columns(choice: Choice) -> Optional[list[str]]:
    """Returns the columns to read from the recording: those not in JOB_COLUMNS, but at least one."""
    own = [column for column in choice.columns or _all_columns(choice.table) if column not in JOB_COLUMNS]
    return own or [_all_columns(choice.table)[len(JOB_COLUMNS)]]


def _library_schema(table: str) -> pyarrow.Schema:
    """Returns the schema of the library's own table."""
    library = _library.get()
    memory = (ctypes.c_char * _SCHEMA_BYTES)()
    error = ctypes.create_string_buffer(_library.ERROR_BYTES)
    _library.check(library.schema(table.encode(), None, memory, error, _library.ERROR_BYTES), error)
    return arrow().Schema._import_from_c(ctypes.addressof(memory))


def _engine_type(kind: Any) -> Any:
    pa = arrow()
    if pa.types.is_dictionary(kind):
        return pa.string()
    return pa.int64() if kind in (pa.uint64(), pa.uint32()) else kind


def schema(choice: Choice) -> pyarrow.Schema:
    """Returns the schema of the batches. Needs no recording. Raises ArgumentError for unknown names."""
    pa = arrow()
    _check(choice)
    types = {"job": pa.string(), "host": pa.string(), "rank": pa.int32(), "attempt": pa.int64()}
    metadata = {}
    if choice.table == FILES:
        types.update((column, pa.string()) for column in _FILES_COLUMNS[len(JOB_COLUMNS) :])
    else:
        own = _library_schema(choice.table)
        metadata = own.metadata
        types.update((field.name, _engine_type(field.type)) for field in own if field.name not in types)
    fields = []
    for name in choice.columns or _all_columns(choice.table):
        of_unit = unit(name)
        fields.append(pa.field(name, types[name], metadata={"unit": of_unit} if of_unit else None))
    return pa.schema(fields, metadata=metadata)


def _convert(column: Any, kind: Any) -> Any:
    """Returns an array with another type. Numbers of 64 bits keep their bits."""
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if column.type == pa.uint64():
        return column.view(pa.int64())
    return column.cast(kind) if column.type != kind else column


def job_place_of(recording: Recording) -> JobPlace:
    """Returns the place of a recording in its job, as `gpumemtrace ranks` finds it."""
    columns = list(JobPlace.__dataclass_fields__)
    (row,) = recording.table("process", columns=columns).to_pyarrow().to_pylist()
    return JobPlace(**row)


def batches(recording: Recording, place: JobPlace, choice: Choice, wanted: pyarrow.Schema) -> Iterator[Any]:
    """Yields the rows of one recording. `wanted` is schema(choice)."""
    pa = arrow()
    table = recording.table(
        choice.table,
        columns=_own_columns(choice),
        time=choice.time,
        steps=choice.steps,
        device=choice.device,
        layer=choice.layer,
    )
    for batch in pa.RecordBatchReader.from_stream(table):
        columns = []
        for field in wanted:
            if field.name in JOB_COLUMNS:
                value = pa.scalar(getattr(place, field.name), field.type)
                columns.append(pa.repeat(value, batch.num_rows))
            else:
                columns.append(_convert(batch.column(field.name), field.type))
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def open_source(source: Source, storage_options: Options) -> Recording:
    """Opens a recording. Other exceptions of a file object become FileError, so that reading goes on with the next."""
    if isinstance(source, str) and not _streams.is_address(source):
        return _recording.open(source)
    try:
        return _recording.Recording(source, storage_options)  # type: ignore[arg-type]
    except _errors.Error:
        raise
    except Exception as error:
        raise _errors.FileError(f"{source}: cannot be read: {_streams.one_line(error)}") from error


def _file_row(source: Source, storage_options: Options) -> dict[str, Any]:
    """Returns the row of a file in the table of files."""
    row: dict[str, Any] = dict.fromkeys(JOB_COLUMNS)
    try:
        with open_source(source, storage_options) as recording:
            place = job_place_of(recording)
            row.update((name, getattr(place, name)) for name in JOB_COLUMNS)
            state = "damaged" if recording.is_damaged else "complete" if recording.is_complete else "incomplete"
            message = "; ".join(recording.warnings) or None
    except _errors.Error as error:
        state, message = "unreadable", str(error)
    return {**row, "path": str(source), "state": state, "message": message}


def read(
    sources: Iterable[Source], choice: Choice, is_strict: bool = False, storage_options: Options = None
) -> Iterator[Any]:
    """Yields the rows of recordings, in batches.

    A file that cannot be read, and one of which only a part can be read, is one line on stderr; with `is_strict`, the
    first one raises its exception.
    """
    pa = arrow()
    wanted = schema(choice)
    for source in sources:
        if choice.table == FILES:
            row = _file_row(source, storage_options)
            if choice.wants(JobPlace(**{name: row[name] for name in JOB_COLUMNS})):
                yield pa.RecordBatch.from_pylist([{name: row[name] for name in wanted.names}], schema=wanted)
            continue
        try:
            with open_source(source, storage_options) as recording:
                place = job_place_of(recording)
                if not choice.wants(place):
                    continue
                if recording.is_damaged:
                    if is_strict:
                        raise _errors.FormatError(recording.warnings[0])
                    files.warn(recording.warnings[0])
                yield from batches(recording, place, choice, wanted)
        except _errors.ArgumentError:
            raise
        except (_errors.Error, OSError) as error:
            if is_strict:
                raise
            files.warn(f"left out: {error}")


def with_filter(choice: Choice, **filters: Any) -> Optional[Choice]:
    """Returns the choice with a further filter of rows. None: the table has no column for it."""
    more = replace(choice, **filters)
    if more.table == FILES:
        return None
    try:
        # The table checks its arguments. It is never read.
        _tables.Table(None, more.table, None, more.time, more.steps, more.device, more.layer)  # type: ignore[arg-type]
    except _errors.ArgumentError:
        return None
    return more
