# SPDX-License-Identifier: MIT
"""Finds the recordings in an object store: objects, prefixes, and patterns such as s3://bucket/run1/*.gmt.gz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumemtrace import _errors, _streams

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gpumemtrace._streams import Options

_MOST_DEPTH = 8


def _is_pattern(address: str) -> bool:
    # `?` begins the query of a presigned address.
    return "*" in address or "[" in address


def _with_names(system: Any, found: Mapping[str, Any]) -> dict[str, int]:
    """Returns the addresses of files with their sizes (0: unknown)."""
    return {
        system.unstrip_protocol(path): int(about.get("size") or 0)
        for path, about in sorted(found.items())
        if about.get("type") != "directory" and not path.endswith("/")
    }


def expand(address: str, options: Options) -> tuple[dict[str, int], bool]:
    """Returns the objects with their sizes, and whether the address names a single one.

    Raises gpumemtrace.FileError if there is none.
    """
    system, path = _streams.filesystem(address, options)
    try:
        if _is_pattern(address):
            found = _with_names(system, system.glob(path, detail=True))
            if not found:
                raise _errors.FileError(f"{address}: no object matches")
            return found, False
        # A web server need not list its folders. The recording itself is opened later.
        if address.partition("://")[0] in ("http", "https"):
            return {address: 0}, True
        if system.isfile(path):
            return {address: int(system.info(path).get("size") or 0)}, True
        found = _with_names(system, system.find(path, maxdepth=_MOST_DEPTH, detail=True))
    except _errors.Error:
        raise
    except Exception as error:
        raise _errors.FileError(f"{address}: cannot be opened: {_streams.one_line(error)}") from error
    if not found:
        raise _errors.FileError(f"{address}: cannot be opened: there is no such object")
    return found, False


def start_of(address: str, options: Options, count: int) -> bytes:
    """Returns the first bytes of an object; b"": it cannot be read."""
    system, path = _streams.filesystem(address, options)
    try:
        return bytes(system.cat_file(path, start=0, end=count))
    except Exception:
        return b""
