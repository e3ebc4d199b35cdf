# SPDX-License-Identifier: MIT
"""Tables of recordings in Spark 4::

    import gpumemtrace.spark

    gpumemtrace.spark.register(spark)
    sites = spark.read.format("gpumemtrace").option("table", "sites").load("job/*.gmt.gz")

Options: ``table``; ``columns`` (names with commas between them); ``filesPerTask`` (at most, default 64); ``strict``
(``true``: a recording that cannot be read is an error, not one line in the log of the executor);
``storageOptions`` (JSON, for addresses such as ``s3://bucket/job``). The workers need this
package and pyarrow.

If ``spark.sql.python.filterPushdown.enabled`` is set, filters of job, host, rank, attempt, layer, device, times and
steps select recordings and rows before they are made.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Optional

from pyspark.sql import datasource  # type: ignore[import-not-found,import-untyped,unused-ignore]
from pyspark.sql import types as spark_types

from gpumemtrace import _errors
from gpumemtrace._jobs import files, rows
from gpumemtrace._jobs.job import choose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_TYPES = {
    "string": spark_types.StringType(),
    "int32": spark_types.IntegerType(),
    "int64": spark_types.LongType(),
    "double": spark_types.DoubleType(),
    "bool": spark_types.BooleanType(),
}
# The part of Spark that pushes filters down. It runs only where the setting allows that.
_PUSHDOWN_MODULE = "pyspark.sql.worker.data_source_pushdown_filters"


def register(spark: Any) -> None:
    """Makes the format "gpumemtrace" known to a SparkSession."""
    spark.dataSource.register(Source)


def _is_pushing_down() -> bool:
    """Returns whether Spark calls us to push filters down.

    Spark refuses a reader with `pushFilters` where its setting does not allow them, and tells a source nothing about
    the setting. So the source looks who calls it.
    """
    frame: Any = sys._getframe(1)
    while frame:
        names = frame.f_globals.get("__name__"), getattr(frame.f_globals.get("__spec__"), "name", None)
        if _PUSHDOWN_MODULE in names:
            return True
        frame = frame.f_back
    return False


class Source(datasource.DataSource):
    """The data source."""

    @classmethod
    def name(cls) -> str:
        return "gpumemtrace"

    def _option(self, name: str, default: str) -> str:
        return str(self.options.get(name, default))

    def _choice(self) -> rows.Choice:
        columns = self._option("columns", "")
        names = [name.strip() for name in columns.split(",")] if columns else None
        return choose(self._option("table", "sites"), names, {}, {})

    def _storage_options(self) -> Optional[dict[str, Any]]:
        text = self._option("storageOptions", "null")
        try:
            options = json.loads(text)
        except ValueError as error:
            raise _errors.ArgumentError(f"option storageOptions: {text} is no JSON: {error}") from error
        if options is not None and not isinstance(options, dict):
            raise _errors.ArgumentError(f"option storageOptions: {text} is no JSON object")
        return options

    def _found(self) -> files.Found:
        paths = json.loads(self._option("paths", "[]"))
        if path := self._option("path", ""):
            paths.append(path)
        if not paths:
            raise _errors.ArgumentError('no recording is given: load("job/*.gmt.gz")')
        plain = [path[len("file:") :] if path.startswith("file:/") else path for path in paths]
        found = files.find(plain, self._storage_options())
        if not found.paths:
            raise _errors.FileError(found.explain())
        return found

    def schema(self) -> Any:
        found, choice = self._found(), self._choice()
        for remark in found.remarks:
            files.warn(remark)
        return spark_types.StructType(
            [
                spark_types.StructField(
                    field.name,
                    _TYPES[str(field.type)],
                    metadata={"comment": rows.unit(field.name)} if rows.unit(field.name) else None,
                )
                for field in rows.schema(choice)
            ]
        )

    def reader(self, schema: Any) -> Reader:
        # A schema of the user chooses columns; Spark compares the types with those of the batches.
        choice = replace(self._choice(), columns=tuple(schema.fieldNames()))
        rows.schema(choice)
        most_files = self._option("filesPerTask", str(files.TASK_FILES))
        if not most_files.isdigit() or most_files == "0":
            raise _errors.ArgumentError(f"option filesPerTask: {most_files} is no number of files")
        is_strict = self._option("strict", "false").lower() == "true"
        kind = FilteringReader if _is_pushing_down() else Reader
        found = self._found()
        return kind(found.paths, choice, int(most_files), is_strict, found.sizes, self._storage_options())


class Task(datasource.InputPartition):
    """The files of one task."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(paths)
        self.paths = paths


class Reader(datasource.DataSourceReader):
    """Reads the files of each task. It can be sent to other processes."""

    def __init__(
        self,
        paths: tuple[str, ...],
        choice: rows.Choice,
        most_files: int,
        is_strict: bool,
        sizes: Optional[Mapping[str, int]] = None,
        storage_options: Any = None,
    ) -> None:
        self.paths = paths
        self.sizes = sizes
        self.storage_options = storage_options
        self.choice = choice
        self.most_files = most_files
        self.is_strict = is_strict

    def partitions(self) -> list[Any]:
        return [Task(paths) for paths in files.tasks(self.paths, self.most_files, self.sizes)]

    def read(self, partition: Any) -> Iterator[Any]:
        for batch in rows.read(partition.paths, self.choice, self.is_strict, self.storage_options):
            # Spark compares the whole schema, and has no metadata in its own.
            yield batch.replace_schema_metadata(None)


class FilteringReader(Reader):
    """Also selects by filters. Spark still applies all of them, so a filter that is only used in part does no harm."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        for one in filters:
            self.choice = with_spark_filter(self.choice, one)
            yield one


def _first_column(table: str, ending: str, others: Iterable[str] = ()) -> Optional[str]:
    """Returns the column that a filter of the library uses."""
    names = rows.schema(rows.Choice(table)).names
    return next((name for name in names if name.endswith(ending) or name in others), None)


def _bounds(kind: str, value: int) -> tuple[Optional[int], Optional[int]]:
    """Returns (begin, end) of the values that pass a comparison."""
    if kind in ("EqualTo", "EqualNullSafe"):
        return value, value + 1
    if kind in ("GreaterThan", "GreaterThanOrEqual"):
        return value + (kind == "GreaterThan"), None
    return None, value + (kind == "LessThanOrEqual")


def _within(before: Any, begin: Optional[int], end: Optional[int]) -> tuple[Optional[int], Optional[int]]:
    """Returns the part of a stretch that is also within another one."""
    old_begin, old_end = before or (None, None)
    begins = [one for one in (old_begin, begin) if one is not None]
    ends = [one for one in (old_end, end) if one is not None]
    return max(begins) if begins else None, min(ends) if ends else None


def with_spark_filter(choice: rows.Choice, one: Any) -> rows.Choice:
    """Returns the choice with a filter of Spark added. Returns it unchanged if the filter cannot be used."""
    kind = type(one).__name__
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    value: Any = getattr(one, "value", None)
    if len(attribute) != 1:
        return choice
    column = attribute[0]
    values: Mapping[str, Any] = {"EqualTo": (value,), "In": value}
    if column in rows.JOB_COLUMNS and kind in values:
        return replace(choice, place=(*choice.place, (column, tuple(values[kind]))))
    if value is None or choice.table == rows.FILES:
        return choice
    more: dict[str, Any] = {}
    if column in ("layer", "device") and kind == "EqualTo":
        before = getattr(choice, column)
        more = {column: value} if before is None or before == value else {}
    elif kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"):
        if not isinstance(value, int) or isinstance(value, bool):
            return choice
        if column == _first_column(choice.table, "time_ns"):
            more = {"time": _within(choice.time, *_bounds(kind, value))}
        elif column == _first_column(choice.table, "made_step", ("step",)):
            more = {"steps": _within(choice.steps, *_bounds(kind, value))}
    return (rows.with_filter(choice, **more) if more else None) or choice
