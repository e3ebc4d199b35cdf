# SPDX-License-Identifier: MIT
"""The files of an export: one for each table and job, or for each table and part (``rank=3``)."""

from __future__ import annotations

import os
import re
import urllib.parse
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from gpumemtrace import _tables
from gpumemtrace._jobs import rows

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from gpumemtrace._jobs.rows import JobPlace

FORMATS = {"parquet": "parquet", "arrow": "arrow", "csv": "csv"}  # name: ending of the files
ROW_GROUP_ROWS = 128 << 10
_MOST_OPEN = 200  # files; a process may usually have 1024
_NONE = "__HIVE_DEFAULT_PARTITION__"


def _open_writer(kind: str, path: str, schema: pyarrow.Schema) -> Any:
    """Returns an object with `write_table` and `close`."""
    if kind == "parquet":
        return _tables._needed("pyarrow.parquet").ParquetWriter(path, schema, compression="zstd")
    if kind == "csv":
        return _tables._needed("pyarrow.csv").CSVWriter(path, schema)
    ipc = _tables._needed("pyarrow.ipc")
    return ipc.new_file(path, schema, options=ipc.IpcWriteOptions(compression="lz4"))


class _File:
    """One file of a table. Collects its rows into row groups of a suitable size."""

    def __init__(self, kind: str, path: str, schema: pyarrow.Schema) -> None:
        self._schema = schema
        self._writer = _open_writer(kind, path, schema)
        self._batches: list[Any] = []
        self._rows = 0

    def add(self, batch: pyarrow.RecordBatch) -> None:
        self._batches.append(batch)
        self._rows += batch.num_rows
        if self._rows >= ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        table = rows.arrow().Table.from_batches(self._batches, self._schema)
        if table.num_rows:
            self._writer.write_table(table.combine_chunks())
        self._batches, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:100] or "job"


class Files:
    """All files of an export below one folder."""

    def __init__(self, folder: str, kind: str, schemas: dict[str, pyarrow.Schema], partition: tuple[str, ...]) -> None:
        self._folder = folder
        self._kind = kind
        self._partition = partition
        # Columns in the names of the folders are not in the files, as in Hive.
        self._schemas = {
            name: rows.arrow().schema([field for field in schema if field.name not in partition], schema.metadata)
            for name, schema in schemas.items()
        }
        self._open: OrderedDict[tuple[str, str], _File] = OrderedDict()
        self._counts: dict[tuple[str, str], int] = {}  # files that were begun
        self._job_names: dict[str, str] = {}  # by job
        self.rows = dict.fromkeys(schemas, 0)

    def _job_name(self, job: str) -> str:
        """Returns the name for the files of a job. No other job has it."""
        name = self._job_names.get(job)
        if name is None:
            plain = _file_name(job)
            taken = {one.lower() for one in self._job_names.values()}
            name, number = plain, 2
            while name.lower() in taken:
                name, number = f"{plain}-{number}", number + 1
            self._job_names[job] = name
        return name

    def _part(self, place: JobPlace) -> str:
        """Returns the path of the files of a place, below the table's folder and without an ending."""
        folders = []
        for column in self._partition:
            value = getattr(place, column)
            folders.append(f"{column}={_NONE if value is None else urllib.parse.quote(str(value), safe=' ')}")
        name = "part" if "job" in self._partition else self._job_name(place.job or "job")
        return os.path.join(*folders, name)

    def _file(self, table: str, place: JobPlace) -> _File:
        key = table, self._part(place)
        file = self._open.get(key)
        if file is None:
            while len(self._open) >= _MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            self._counts[key] = count = self._counts.get(key, 0) + 1
            suffix = f"-{count}" if count > 1 else ""
            path = os.path.join(self._folder, table, f"{key[1]}{suffix}.{FORMATS[self._kind]}")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = self._open[key] = _File(self._kind, path, self._schemas[table])
        self._open.move_to_end(key)
        return file

    def add(self, table: str, place: JobPlace, batch: pyarrow.RecordBatch) -> None:
        """Adds rows of a recording."""
        self.rows[table] += batch.num_rows
        self._file(table, place).add(batch.select(self._schemas[table].names))

    def begin(self, table: str, place: JobPlace) -> None:
        """Makes a file for a table without rows, so that engines find its columns."""
        self._file(table, place)

    def begun(self) -> set[str]:
        """Returns the tables that have a file."""
        return {table for table, _ in self._counts}

    def close(self) -> None:
        while self._open:
            self._open.popitem(last=False)[1].close()

    def discard(self) -> None:
        """Closes the open files after an error. They are not complete."""
        while self._open:
            try:
                self._open.popitem(last=False)[1].close()
            except Exception:
                pass
