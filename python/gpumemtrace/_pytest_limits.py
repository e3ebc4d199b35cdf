# SPDX-License-Identifier: MIT
"""The limits of tests: their markers, and sizes as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Optional

import pytest

LAYERS = ("torch", "cuda", "custom", "driver", "imported")
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B\s*", re.IGNORECASE)


def parse_size(value: object) -> int:
    """Returns the bytes of a size: a whole number of bytes, or text such as "2 GiB" and "500 MB"."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{value} is below 0")
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not found or (found[3] and not found[2]):
        raise ValueError(f'{value!r} is not a size; write it as "2 GiB", "500 MB", "0 B", or as a number of bytes')
    unit: int = (1024 if found[3] else 1000) ** _POWERS.get(found[2].upper(), 0)
    return round(float(found[1]) * unit) if "." in found[1] else int(found[1]) * unit


def show_size(size_bytes: int) -> str:
    """Returns the size as text, with IEC units."""
    sign, size = ("-" if size_bytes < 0 else ""), float(abs(size_bytes))
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    digits = 0 if unit == "B" else 2 if size < 10 else 1 if size < 100 else 0
    return f"{sign}{size:.{digits}f} {unit}"


@dataclass(frozen=True)
class Limit:
    """A limit of one test."""

    marker: str  # the marker's name
    limit_bytes: int
    text: str  # as the test wrote it
    warmups: int
    device: Optional[int]  # None: each GPU by itself
    layer: Optional[str]  # None: what the program uses (docs/pytest.md)


def _read_marker(mark: pytest.Mark) -> Limit:
    given: dict[str, Any] = dict(mark.kwargs)
    if len(mark.args) > 1:
        raise ValueError("it takes one argument without a name, the limit")
    if mark.args:
        if "limit" in given:
            raise ValueError("the limit is given twice")
        given["limit"] = mark.args[0]
    if "limit" not in given:
        raise ValueError('the limit is missing: write for example @pytest.mark.%s("2 GiB")' % mark.name)
    allowed = {"limit", "device", "layer"} | ({"warmups"} if mark.name == "limit_gpu_leaks" else set())
    for name in given:
        if name not in allowed:
            raise ValueError(f"it has no argument {name}; it has {', '.join(sorted(allowed))}")
    warmups, device, layer = given.get("warmups", 0), given.get("device"), given.get("layer")
    if not isinstance(warmups, int) or isinstance(warmups, bool) or warmups < 0:
        raise ValueError(f"warmups={warmups!r} is not a number of runs")
    if device is not None and (not isinstance(device, int) or isinstance(device, bool) or device < 0):
        raise ValueError(f"device={device!r} is not the number of a GPU")
    if layer is not None and layer not in LAYERS:
        raise ValueError(f"layer={layer!r} is not one of {', '.join(LAYERS)}")
    limit = given["limit"]
    text = f"{limit:,} bytes" if isinstance(limit, int) else str(limit).strip()
    return Limit(mark.name, parse_size(limit), text, warmups, device, layer)


def read_limit(item: pytest.Item, marker: str) -> Optional[Limit]:
    """Returns the limit of the test's closest marker of this name, or None. A wrong marker is a usage error."""
    mark = item.get_closest_marker(marker)
    if mark is None:
        return None
    try:
        return _read_marker(mark)
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: marker {marker}: {error}") from None
