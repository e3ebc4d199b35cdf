# SPDX-License-Identifier: MIT
"""The recordings of a job as tables, one after the other. `gpumemtrace.open_job` returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Union

from gpumemtrace import _errors, _tables
from gpumemtrace._jobs import files, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from gpumemtrace._jobs.files import Paths
    from gpumemtrace._streams import Options
    from gpumemtrace._tables import Device, Moment

    # One value of a column, or several.
    Texts = Union[str, Iterable[str], None]
    Numbers = Union[int, Iterable[int], None]


def _values(name: str, value: Any) -> tuple[Any, ...]:
    """Returns the values of a filter by file."""
    if isinstance(value, str):
        if name == "rank":
            raise _errors.ArgumentError(f"rank: {value!r} is no number of a rank")
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        return (value,)


def choose(name: str, columns: Optional[Iterable[str]], filters: dict[str, Any], places: dict[str, Any]) -> rows.Choice:
    """Returns the choice of a table's rows. Raises ArgumentError for filters that the table does not have."""
    if unknown := sorted(set(places) - set(rows.JOB_COLUMNS)):
        raise _errors.ArgumentError(f"there is no filter {unknown[0]}")
    if isinstance(columns, str):
        raise _errors.ArgumentError(f"columns: {columns!r} is one text; give a list of names")
    choice = rows.Choice(
        name,
        None if columns is None else tuple(columns),
        place=tuple((column, _values(column, value)) for column, value in places.items() if value is not None),
        **filters,
    )
    rows.schema(choice)
    if any(value is not None for value in filters.values()):
        if name == rows.FILES:
            raise _errors.ArgumentError(f"table {name} can only be filtered by rank, host and job")
        _tables.Table(None, name, None, choice.time, choice.steps, choice.device, choice.layer)  # type: ignore[arg-type]
    return choice


class JobTable:
    """A table of all recordings of a job. Any Arrow library can read it, again and again.

    Each reader opens the recordings again: convert the table once if you need it several times.
    """

    __slots__ = ("_choice", "_is_strict", "_sources", "_storage_options", "schema")

    def __init__(
        self, sources: tuple[rows.Source, ...], choice: rows.Choice, is_strict: bool, storage_options: Options
    ) -> None:
        self._sources = sources
        self._storage_options = storage_options
        self._choice = choice
        self._is_strict = is_strict
        self.schema: pyarrow.Schema = rows.schema(choice)

    def __repr__(self) -> str:
        return f"<gpumemtrace.JobTable {self._choice.table} of {len(self._sources)} recordings>"

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """Yields the rows, recording by recording. Only one recording is in memory at a time."""
        return rows.read(self._sources, self._choice, self._is_strict, self._storage_options)

    def _reader(self) -> Any:
        return rows.arrow().RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns a new stream of this table, as the Arrow PyCapsule interface says. Its schema is always its own."""
        return self._reader().__arrow_c_stream__()

    def to_pyarrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table."""
        return self._reader().read_all()

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars.DataFrame."""
        frame: polars.DataFrame = _tables._needed("polars").from_arrow(self.to_pyarrow())
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas.DataFrame with pandas' Arrow types, which keep unknown integers exact."""
        dtype = _tables._needed("pandas").ArrowDtype
        frame: pandas.DataFrame = self.to_pyarrow().to_pandas(types_mapper=dtype)
        return frame


class Job:
    """The recordings of a job. It holds no file open."""

    __slots__ = ("_found", "_is_strict", "_sources", "_storage_options", "paths", "remarks")

    def __init__(self, paths: Paths, is_strict: bool, storage_options: Options = None) -> None:
        found = files.find(paths, storage_options)
        self._sources: tuple[rows.Source, ...] = (*found.paths, *found.streams)
        if not self._sources or (is_strict and found.is_failure):
            raise _errors.FileError(found.explain() if not self._sources else found.remarks[0])
        self._found = found
        self.paths = tuple(str(source) for source in self._sources)
        self._storage_options = storage_options
        # One line for each other file or failure.
        self.remarks = found.remarks
        self._is_strict = is_strict

    def __repr__(self) -> str:
        return f"<gpumemtrace.Job of {len(self.paths)} recordings>"

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The names of all tables, each with the names of its columns."""
        return {name: tuple(rows.schema(rows.Choice(name)).names) for name in rows.names()}

    def table(
        self,
        name: str,
        *,
        columns: Optional[Iterable[str]] = None,
        time: Optional[tuple[Moment, Moment]] = None,
        steps: Union[int, range, tuple[Optional[int], Optional[int]], None] = None,
        device: Device = None,
        layer: Optional[str] = None,
        rank: Numbers = None,
        host: Texts = None,
        job: Texts = None,
    ) -> JobTable:
        """Returns a table of all recordings.

        The filters are those of ``Recording.table``. ``rank``, ``host`` and ``job``: one value or several; other
        recordings are opened, but not analysed.
        """
        filters = {"time": time, "steps": steps, "device": device, "layer": layer}
        choice = choose(name, columns, filters, {"rank": rank, "host": host, "job": job})
        return JobTable(self._sources, choice, self._is_strict, self._storage_options)


def open_job(paths: Paths, *, strict: bool = False, storage_options: Optional[Mapping[str, Any]] = None) -> Job:
    """Finds the recordings of a job: in folders and their folders, as files, or by a pattern such as "job/*.gmt.gz".

    Also by addresses that fsspec opens with ``storage_options`` (an object, a prefix, a pattern such as
    "s3://bucket/run1/*.gmt.gz"), and as file objects (see ``gpumemtrace.open``), which must stay open.

    A recording that cannot be read, or only in part, is one line on stderr, and the others are read. With ``strict``,
    it raises gpumemtrace.Error instead. Tables need pyarrow.
    """
    return Job(paths, strict, storage_options)


def open_and_choose(
    paths: Paths,
    table: str,
    columns: Optional[Iterable[str]],
    is_strict: bool,
    filters: dict[str, Any],
    storage_options: Options,
) -> tuple[Job, rows.Choice]:
    """Returns the recordings for an engine, and the choice of a table's rows. Prints remarks on stderr."""
    job = Job(paths, is_strict, storage_options)
    job._found.only_paths()
    for remark in job.remarks:
        files.warn(remark)
    of_rows = {name: filters.pop(name, None) for name in ("time", "steps", "device", "layer")}
    return job, choose(table, columns, of_rows, filters)
