# SPDX-License-Identifier: MIT
"""Finds the lines of the program that hold the memory when a limit fails."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Optional

from gpumemtrace._pytest_limits import show_size
from gpumemtrace._pytest_numbers import Row, read_reports

_SHOWN = 10
_OUTSIDE = ("/_pytest/", "/pluggy/", "/unittest/", "/asyncio/", "/gpumemtrace/_pytest")  # frames that run the test


@dataclass
class Line:
    """The memory growth of a line of the program, and the stack of its largest part."""

    size_bytes: int = 0
    blocks: int = 0
    stacks: dict[tuple[str, ...], int] = field(default_factory=lambda: defaultdict(int))


def _show_frame(frame: dict[str, Any], folder: str) -> str:
    if not frame["file"]:
        return f"{frame['function']} ({os.path.basename(frame['module'] or '?')})"
    path = os.path.relpath(frame["file"], folder)
    path = frame["file"] if path.startswith("..") else path
    return f"{path}:{frame['line']} in {frame['function']}"


def _show_stack(site: dict[str, Any], folder: str) -> tuple[str, ...]:
    """Returns the program's own line and its callers, up to the test function."""
    if not site["stack"]:
        return ("(no stack)",)
    own = site["stack"][site["own_frame"] :]
    for count, frame in enumerate(own):
        if count and any(part in (frame["file"] or "") for part in _OUTSIDE):
            own = own[:count]
            break
    # The C function that started Python is not the test's.
    return tuple(_show_frame(frame, folder) for frame in own if frame is own[0] or frame["kind"] == "python")


def _is_counted(site: dict[str, Any], layer: Optional[str], device: int) -> bool:
    if site["device"] != device:
        return False
    if layer is not None:
        return bool(site["layer"] == layer)
    return site["layer"] == "torch" or (site["layer"] == "cuda" and not site["is_segment"])


def held_lines(path: str, row: Row, moment_ns: int, folder: str, native: bool) -> list[tuple[str, Line]]:
    """Returns the memory growth of each line from the beginning of the phase to a moment, the largest first.

    The sum is what the layer holds more at that moment.
    """
    lines: dict[str, Line] = defaultdict(Line)
    for sign, time_ns in (1, moment_ns), (-1, row.begin_ns):
        options = [f"--until={time_ns}ns", "--native=trimmed" if native else "--native=none"]
        for report in read_reports([path], *options):
            for site in report["sites"]:
                if site["live_bytes"] and _is_counted(site, row.layer, row.device):
                    stack = _show_stack(site, folder)
                    line = lines[stack[0]]
                    line.size_bytes += sign * site["live_bytes"]
                    line.blocks += sign * site["live_blocks"]
                    line.stacks[stack] += sign * site["live_bytes"]
    changed = [(name, line) for name, line in lines.items() if line.size_bytes or line.blocks]
    return sorted(changed, key=lambda pair: -pair[1].size_bytes)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if abs(number) == 1 else 's'}"


def show_lines(lines: list[tuple[str, Line]], stack_frames: int) -> list[str]:
    """Returns the text of the largest lines, each with its callers, and of the rest as sums."""
    text = []
    held = [pair for pair in lines if pair[1].size_bytes > 0]
    for name, line in held[:_SHOWN]:
        text.append(f"  {show_size(line.size_bytes):>9}  {name}  ({_count(line.blocks, 'block')})")
        stack = max(line.stacks, key=lambda stack: line.stacks[stack])
        text += [f"             called at {frame}" for frame in stack[1:stack_frames]]
    rest = held[_SHOWN:]
    if rest:
        size = sum(line.size_bytes for _, line in rest)
        text.append(f"  {show_size(size):>9}  in {_count(len(rest), 'other line')}")
    freed = sum(line.size_bytes for _, line in lines if line.size_bytes < 0)
    if freed:
        text.append(f"  {show_size(freed):>9}  was freed that was held before")
    return text
