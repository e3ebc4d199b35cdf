# SPDX-License-Identifier: MIT
"""The cells that the notebook ran: their text, and the file names with which Python compiled them."""

from __future__ import annotations

import threading
from typing import Any, Callable


class Cell:
    """A cell that ran or runs.

    ``files`` maps the name of each compiled file to an offset: line of the cell = line of the file + offset.
    """

    def __init__(self, source: str) -> None:
        self.number = 0  # known when IPython compiles the cell
        self.lines = source.split("\n")
        self.files: dict[str, int] = {}

    @property
    def phase(self) -> str:
        return f"In [{self.number}]"

    def text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def line_of(self, stack: list[dict[str, Any]]) -> int | None:
        """Returns the line of the cell that called this stack (leaf first), or None if another code did."""
        timed = None
        for frame in stack:
            if frame["kind"] != "python" or frame["file"] is None or frame["line"] is None:
                continue
            name, line = str(frame["file"]), int(frame["line"])
            if name.startswith("<timed exec") and timed is None:
                timed = line
            if name in self.files:
                line += self.files[name]
                # IPython compiles the lines below %%time under a name of its own. They begin below %%time.
                return line + timed if timed is not None and self.text(line).startswith("%%time") else line
        return None


class _Run:
    """One run of code by IPython: of a cell, of the text below %%gpumemtrace, or of other code inside of a cell."""

    def __init__(self, cell: Cell, shift: int | None) -> None:
        self.cell = cell
        self.shift = shift  # leads from lines of the code to lines of the cell; None: other code
        self.has_begun = False


class Cells:
    """The cells of one shell. IPython calls ``begin``, ``compiled`` and ``end`` in this order, in the cell's thread."""

    def __init__(self, push: Callable[[str], None], pop: Callable[[], None]) -> None:
        self._push = push
        self._pop = pop
        self._local = threading.local()
        self.by_number: dict[int, Cell] = {}
        self.last: Cell | None = None

    def _runs(self) -> list[_Run]:
        """Returns the open runs of the calling thread, the innermost last."""
        if not hasattr(self._local, "runs"):
            self._local.runs = []
            self._local.inside = None
        runs: list[_Run] = self._local.runs
        return runs

    def current(self) -> Cell | None:
        runs = self._runs()
        return runs[0].cell if runs else None

    def expect_inside(self, shift: int) -> None:
        """The next code is the text of the current cell below its first line. `shift` leads to lines of the cell."""
        self._runs()
        self._local.inside = shift

    def begin(self, source: str) -> None:
        runs = self._runs()
        if runs:
            runs.append(_Run(runs[0].cell, self._local.inside))
        else:
            runs.append(_Run(Cell(source), 0))
        self._local.inside = None

    def number_of(self, number: int) -> int:
        """Returns the real number of the cell that IPython is about to compile. `number` is IPython's own count.

        IPython gives code inside of a cell the number of the next cell.
        """
        runs = self._runs()
        if not runs or runs[-1].has_begun:
            return number
        if len(runs) == 1:
            runs[0].cell.number = number
        return runs[0].cell.number

    def compiled(self, name: str) -> None:
        """IPython compiled the code under this file name and is about to run it. The phase of a cell begins."""
        runs = self._runs()
        if not runs or runs[-1].has_begun:
            return
        run = runs[-1]
        run.has_begun = True
        if run.shift is not None:
            run.cell.files[name] = run.shift
        if run.shift is not None:
            self._push(run.cell.phase)

    def end(self) -> None:
        runs = self._runs()
        if not runs:
            return  # the extension was loaded in this very cell
        run = runs.pop()
        if run.has_begun and run.shift is not None:
            self._pop()
        if run.has_begun and not runs:
            self.by_number[run.cell.number] = run.cell
            self.last = run.cell
