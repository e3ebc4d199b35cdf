# SPDX-License-Identifier: MIT
"""The verb `export`. `gpumemtrace export` starts it in a Python, `python -m gpumemtrace export` in this one."""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from gpumemtrace import _errors

if TYPE_CHECKING:
    from gpumemtrace._jobs.export import Export

_USAGE, _UNREADABLE, _INCOMPLETE = 2, 3, 4


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fail(message, _USAGE)


def _fail(message: str, code: int) -> NoReturn:
    plain = "".join(one if one.isprintable() else "\\x%02x" % ord(one) for one in message)
    print(f"gpumemtrace: error: export: {plain}", file=sys.stderr)
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gpumemtrace export",
        description="Write the tables of recordings as files for data engines.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="file|folder")
    parser.add_argument("-o", "--output", metavar="DIR", help="write to this new folder")
    parser.add_argument("--format", choices=("parquet", "arrow", "csv"), default="parquet")
    parser.add_argument("--table", action="append", metavar="NAME", help="write this table (default: all)")
    parser.add_argument("--partition", action="append", default=[], metavar="job,host,rank", help="one folder a value")
    parser.add_argument("--parallel", type=int, metavar="N", help="number of processes that read")
    parser.add_argument("--strict", action="store_true", help="exit with 4 if a recording is incomplete")
    parser.add_argument("--force", action="store_true", help="replace an older export")
    return parser


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _export(options: argparse.Namespace) -> Export:
    from gpumemtrace._jobs.export import export

    if importlib.util.find_spec("pyarrow") is None:
        raise _errors.InstallationError(
            f"this needs pyarrow: type `{sys.executable} -m pip install pyarrow`, or choose a Python with --python"
        )
    return export(
        options.paths,
        options.output,
        format=options.format,
        tables=options.table,
        partition=[word for words in options.partition for word in words.split(",")],
        parallel=options.parallel,
        force=options.force,
    )


def main(words: list[str]) -> int:
    """Returns the exit code: 0; 2 wrong command line; 3 a named file, or nothing, could be read; 4 with --strict."""
    options = _parser().parse_args(words)
    if not options.paths:
        _fail("no recording or folder is given", _USAGE)
    if "-" in options.paths:
        _fail("`-`: several processes read the recordings: name files, folders or addresses", _USAGE)
    if not options.output:
        _fail("--output DIR is missing: the new folder for the files", _USAGE)
    # The folder of an unfinished export is removed.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        done = _export(options)
    except _errors.ArgumentError as error:
        _fail(str(error), _USAGE)
    except (_errors.Error, OSError, MemoryError) as error:
        _fail(str(error) or "out of memory", _UNREADABLE)
    read = f"{_plural(done.recordings, 'recording')} of {_plural(done.jobs, 'job')}"
    print(
        f"wrote {options.output}: {_plural(len(done.rows), 'table')}, {read}, {_plural(sum(done.rows.values()), 'row')}"
    )
    if done.is_failure:
        return _UNREADABLE
    return _INCOMPLETE if options.strict and (done.incomplete or done.unreadable) else 0
