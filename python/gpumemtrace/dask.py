# SPDX-License-Identifier: MIT
"""Tables of recordings in Dask::

import gpumemtrace.dask

sites = gpumemtrace.dask.read("job/*.gmt.gz", "sites")
print(sites.groupby("rank")["peak_bytes"].sum().compute())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from gpumemtrace import _tables
from gpumemtrace._jobs import files, rows
from gpumemtrace._jobs.job import open_and_choose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpumemtrace._jobs.files import Paths


def _frame(table: Any) -> Any:
    return table.to_pandas(types_mapper=_tables._needed("pandas").ArrowDtype)


def _read(paths: tuple[str, ...], choice: rows.Choice, is_strict: bool, storage_options: Any) -> Any:
    """Returns the rows of one task. Dask calls it in the processes of its workers."""
    pa = rows.arrow()
    return _frame(pa.Table.from_batches(rows.read(paths, choice, is_strict, storage_options), rows.schema(choice)))


def read(
    paths: Paths,
    table: str = "sites",
    *,
    columns: Optional[Iterable[str]] = None,
    files_per_task: int = files.TASK_FILES,
    strict: bool = False,
    storage_options: Optional[Mapping[str, Any]] = None,
    **filters: Any,
) -> Any:
    """Returns a dask.dataframe of a table of many recordings, with pandas' Arrow types.

    ``filters``: those of ``Job.table``: time, steps, device, layer, rank, host, job. ``files_per_task``: at most; large
    files get a task each. ``strict``: a recording that cannot be read raises its exception, instead of one line.
    ``storage_options``: for addresses such as "s3://bucket/job", as in ``gpumemtrace.open_job``.
    """
    job, choice = open_and_choose(paths, table, columns, strict, filters, storage_options)
    empty = _frame(rows.schema(choice).empty_table())
    tasks = files.tasks(job.paths, files_per_task, job._found.sizes)
    return _tables._needed("dask.dataframe").from_map(
        _read, tasks, choice=choice, is_strict=strict, storage_options=storage_options, meta=empty
    )
