# SPDX-License-Identifier: MIT
"""Writes the tables of many recordings as Parquet, Arrow or CSV files, for any data engine."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from gpumemtrace import _errors, _library
from gpumemtrace._jobs import export_files, export_worker, files, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpumemtrace._jobs.files import Path, Paths

# The last file of an export. Engines ignore names that begin with an underscore.
ABOUT = "_gpumemtrace.json"
SCHEMA = "gpumemtrace.export/1"


@dataclass(frozen=True)
class Export:
    """The result of an export."""

    output: str
    rows: dict[str, int]  # by table
    recordings: int  # that were read
    jobs: int
    unreadable: int
    incomplete: int  # recordings that lack events or their end
    is_failure: bool  # a file that the user named could not be read


@dataclass
class _State:
    """Counts and results so far."""

    seen: set[rows.JobPlace]
    jobs: set[Optional[str]]
    first: rows.JobPlace
    recordings: int = 0
    unreadable: int = 0
    incomplete: int = 0
    is_failure: bool = False


def _check_output(output: str, is_forced: bool) -> None:
    """Raises FileError if the folder must not be replaced: only an older export may be, and an empty folder."""
    if not os.path.lexists(output):
        return
    if not os.path.isdir(output) or os.path.islink(output):
        raise _errors.FileError(f"{output}: exists and is no folder; it was not overwritten")
    if not os.listdir(output):
        return
    if not os.path.exists(os.path.join(output, ABOUT)):
        raise _errors.FileError(f"{output}: the folder holds other things than an export; it was not overwritten")
    if not is_forced:
        raise _errors.FileError(f"{output}: there is an export already; --force (force=True) replaces it")


def _replace(unfinished: str, output: str) -> None:
    """Renames the complete folder to its final name. An older export stays until then."""
    old = f"{output}.old-{os.getpid()}"
    if os.path.isdir(output):
        os.rename(output, old)
    try:
        os.rename(unfinished, output)
    except BaseException:
        if os.path.isdir(old):
            os.rename(old, output)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _stored_batches(path: str, tables: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yields the batches that a worker wrote, each with its table."""
    pa = rows.arrow()
    with pa.OSFile(path) as file:
        for name in tables:
            with pa.ipc.open_stream(file) as reader:
                for batch in reader:
                    yield name, batch


def _file_row(path: str, place: rows.JobPlace, answer: dict[str, Any]) -> Any:
    """Returns the row of the table of files, as rows.read makes it."""
    schema = rows.schema(rows.Choice(rows.FILES))
    state, message = "unreadable", answer.get("error")
    if message is None:
        state = "damaged" if answer["damage"] else "complete" if answer["is_complete"] else "incomplete"
        message = answer["warnings"]
    row = {name: getattr(place, name) for name in rows.JOB_COLUMNS}
    row.update(path=path, state=state, message=message)
    return rows.arrow().RecordBatch.from_pylist([row], schema=schema)


def _add(
    state: _State, out: export_files.Files, tables: list[str], request: dict[str, Any], answer: dict[str, Any]
) -> None:
    """Adds the answer of a worker to the files."""
    path = request["path"]
    place = rows.JobPlace(**answer["place"]) if "place" in answer else rows.JobPlace()
    if "error" in answer:
        files.warn(f"left out: {answer['error']}")
        state.unreadable += 1
        state.is_failure |= request["is_named"]
    elif place in state.seen:
        files.warn(f"left out: {path}: the same process as in another file")
        return
    else:
        if answer["damage"]:
            files.warn(answer["damage"])
        state.incomplete += not answer["is_complete"]
        if not state.recordings:
            state.first = place
        state.seen.add(place)
        state.jobs.add(place.job)
        state.recordings += 1
        for name, batch in _stored_batches(request["output"], request["tables"]):
            out.add(name, place, batch)
    if rows.FILES in tables:
        out.add(rows.FILES, place, _file_row(path, place, answer))


def _about(state: _State, out: export_files.Files, kind: str, partition: tuple[str, ...]) -> dict[str, Any]:
    """Returns the description of the export."""
    version = rows.schema(rows.Choice("process")).metadata[b"gpumemtrace.table_version"].decode()
    tables = {}
    for name, count in out.rows.items():
        fields = rows.schema(rows.Choice(name))
        columns = [{"name": one.name, "type": str(one.type), "unit": rows.unit(one.name)} for one in fields]
        tables[name] = {"rows": count, "columns": columns}
    return {
        "schema": SCHEMA,
        "table_version": int(version),
        "program_version": _library.get().program_version,
        "format": kind,
        "partition": list(partition),
        "jobs": sorted(str(job) for job in state.jobs),
        "recordings": state.recordings,
        "unreadable": state.unreadable,
        "tables": tables,
    }


def _with_units(schema: Any) -> Any:
    """Returns a schema whose metadata has the units of its columns, because formats keep no metadata of columns."""
    units = {name: rows.unit(name) for name in schema.names if rows.unit(name)}
    return schema.with_metadata({**(schema.metadata or {}), b"gpumemtrace.units": json.dumps(units).encode()})


def _write(found: files.Found, folder: str, tables: list[str], settings: dict[str, Any]) -> tuple[_State, Any]:
    """Writes all files to a folder. Returns the state and the description of the export."""
    schemas = {name: _with_units(rows.schema(rows.Choice(name))) for name in tables}
    out = export_files.Files(folder, settings["format"], schemas, settings["partition"])
    state = _State(set(), set(), rows.JobPlace())
    stored = os.path.join(folder, ".unfinished")
    os.mkdir(stored)
    own = [name for name in tables if name != rows.FILES]
    requests = [
        {
            "path": path,
            "storage_options": settings["storage_options"],
            "output": os.path.join(stored, str(i)),
            "tables": own,
            "is_named": path in found.named,
        }
        for i, path in enumerate(found.paths)
    ]
    pool = export_worker.Pool(min(settings["parallel"], len(requests)))
    try:
        for request, answer in pool.ask_all(requests):
            _add(state, out, tables, request, answer)
            if os.path.exists(request["output"]):
                os.unlink(request["output"])
        if not state.recordings:
            raise _errors.FileError("no recording could be read")
        for name in sorted(set(tables) - out.begun()):
            out.begin(name, state.first)
        out.close()
    except BaseException:
        out.discard()
        raise
    shutil.rmtree(stored)
    return state, _about(state, out, settings["format"], settings["partition"])


def _settings(tables: list[str], kind: str, partition: Iterable[str], parallel: Optional[int]) -> dict[str, Any]:
    """Checks the arguments of `export`."""
    known = rows.names()
    for name in tables:
        if name not in known:
            raise _errors.ArgumentError(f"there is no table {name}; tables are {', '.join(known)}")
    if kind not in export_files.FORMATS:
        raise _errors.ArgumentError(f"there is no format {kind}; formats are {', '.join(export_files.FORMATS)}")
    wanted = set((partition,) if isinstance(partition, str) else partition)
    if wanted - {"job", "host", "rank"}:
        raise _errors.ArgumentError(f"partition: {sorted(wanted)}: choose among job, host and rank")
    if parallel is not None and parallel < 1:
        raise _errors.ArgumentError("parallel: at least one process must read")
    return {
        "format": kind,
        "partition": tuple(name for name in rows.JOB_COLUMNS if name in wanted),
        "parallel": parallel or len(os.sched_getaffinity(0)),
    }


def _plain(storage_options: Optional[Mapping[str, Any]]) -> Optional[dict[str, Any]]:
    """Returns a copy of the storage options that can be sent to worker processes as JSON."""
    try:
        plain: Optional[dict[str, Any]] = json.loads(json.dumps(storage_options and dict(storage_options)))
    except TypeError as error:
        raise _errors.ArgumentError(
            f"storage_options: export sends them to other processes as JSON: {error}"
        ) from error
    return plain


def export(
    paths: Paths,
    output: Path,
    *,
    format: str = "parquet",
    tables: Optional[Iterable[str]] = None,
    partition: Iterable[str] = (),
    parallel: Optional[int] = None,
    force: bool = False,
    storage_options: Optional[Mapping[str, Any]] = None,
) -> Export:
    """Writes the tables of recordings to files below the folder ``output``: ``output/sites/JOB.parquet`` and so on.

    ``format``: "parquet", "arrow" or "csv". ``tables``: their names (default: all). ``partition``: of "job", "host" and
    "rank": a folder for each value, such as ``output/sites/rank=3``, instead of one file for each job. ``parallel``:
    processes that read (default: one for each processor). ``force``: replace an older export. ``storage_options``: for
    addresses such as "s3://bucket/job", as in ``open_job``.

    The folder gets its name when it is complete. A recording that cannot be read is one line on stderr. Raises
    gpumemtrace.Error if no recording can be read, or the folder cannot be written.
    """
    wanted = list(dict.fromkeys(rows.names() if tables is None else tables))
    settings = _settings(wanted, format, partition, parallel)
    settings["storage_options"] = _plain(storage_options)
    rows.arrow()
    target = os.path.abspath(os.fspath(output))
    _check_output(target, force)
    found = files.find(paths, storage_options)
    if not found.only_paths():
        raise _errors.FileError(found.explain())
    for remark in found.remarks:
        files.warn(remark)
    unfinished = f"{target}.unfinished-{os.getpid()}"
    try:
        os.makedirs(unfinished)
        try:
            state, about = _write(found, unfinished, wanted, settings)
            with open(os.path.join(unfinished, ABOUT), "w", encoding="utf-8") as file:
                json.dump(about, file, indent=1, ensure_ascii=False)
                file.write("\n")
            _replace(unfinished, target)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    except OSError as error:
        if isinstance(error, _errors.Error):
            raise
        raise _errors.FileError(f"{output}: cannot be written: {error.strerror or error}") from error
    return Export(
        output=os.fspath(output),
        rows={name: about["tables"][name]["rows"] for name in wanted},
        recordings=state.recordings,
        jobs=len(state.jobs),
        unreadable=state.unreadable,
        incomplete=state.incomplete,
        is_failure=state.is_failure or found.is_failure,
    )
