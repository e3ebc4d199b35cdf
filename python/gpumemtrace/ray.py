# SPDX-License-Identifier: MIT
"""Tables of recordings in Ray Data::

import gpumemtrace.ray

sites = gpumemtrace.ray.read("job/*.gmt.gz", "sites")
print(sites.groupby("rank").sum("peak_bytes").take_all())
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Optional

import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
from ray.data.block import BlockMetadata  # type: ignore[import-not-found,import-untyped,unused-ignore]
from ray.data.datasource import Datasource, ReadTask  # type: ignore[import-not-found,import-untyped,unused-ignore]

from gpumemtrace._jobs import files, rows
from gpumemtrace._jobs.job import Job, open_and_choose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpumemtrace._jobs.files import Paths


def _read(paths: tuple[str, ...], choice: rows.Choice, is_strict: bool, storage_options: Any) -> list[Any]:
    """Returns the rows of one task as one block. Ray calls it in its workers."""
    return [rows.arrow().Table.from_batches(rows.read(paths, choice, is_strict, storage_options), rows.schema(choice))]


class Source(Datasource):
    """The recordings of a job. It can be sent to other processes."""

    def __init__(
        self, job: Job, choice: rows.Choice, files_per_task: int, is_strict: bool, storage_options: Any
    ) -> None:
        super().__init__()
        self._tasks = files.tasks(job.paths, files_per_task, job._found.sizes)
        self._storage_options = storage_options
        self._choice = choice
        self._is_strict = is_strict

    def get_name(self) -> str:
        return "gpumemtrace"

    def estimate_inmemory_data_size(self) -> Optional[int]:
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:
        schema = rows.schema(self._choice)
        return [
            ReadTask(
                functools.partial(_read, paths, self._choice, self._is_strict, self._storage_options),
                BlockMetadata(num_rows=None, size_bytes=None, input_files=list(paths), exec_stats=None),
                schema,
            )
            for paths in self._tasks
        ]


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
    """Returns a ray.data.Dataset of a table of many recordings.

    ``filters``: those of ``Job.table``: time, steps, device, layer, rank, host, job. ``files_per_task``: at most; large
    files get a task each. ``strict``: a recording that cannot be read raises its exception, instead of one line.
    ``storage_options``: for addresses such as "s3://bucket/job", as in ``gpumemtrace.open_job``.
    """
    job, choice = open_and_choose(paths, table, columns, strict, filters, storage_options)
    return ray.data.read_datasource(Source(job, choice, files_per_task, strict, storage_options))
