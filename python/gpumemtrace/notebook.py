# SPDX-License-Identifier: MIT
"""The magics ``%%gpumemtrace`` and ``%gpumemtrace``: which lines of a cell allocated how much GPU memory.

``%load_ext gpumemtrace`` loads them; the kernel of ``python -m gpumemtrace kernelspec`` does that by itself. From then
on each cell is a phase of the recording, ``In [12]``.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import shlex
import sys
from typing import Any, NoReturn

import gpumemtrace
from gpumemtrace import _notebook_html
from gpumemtrace._notebook_numbers import CellError, Numbers, measure
from gpumemtrace._notebook_cells import Cell, Cells

_NO_RECORDER = (
    "this kernel does not record: type `python -m gpumemtrace kernelspec` in a terminal, "
    "then choose the kernel that it installs"
)


class _UsageError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(message)


def _parser(for_cell: bool) -> argparse.ArgumentParser:
    parser = _Parser(prog="%%gpumemtrace" if for_cell else "%gpumemtrace", add_help=False, allow_abbrev=False)
    page = parser.add_mutually_exclusive_group()
    page.add_argument("--page", action="store_true", help="show the page of the whole recording open")
    page.add_argument("--no-page", action="store_true", help="leave the page out")
    if not for_cell:
        parser.add_argument("cell", nargs="?", type=int, help="number of a cell (default: the last one)")
    return parser


class _Output:
    """The table in the notebook. Each front end chooses the form that it supports."""

    def __init__(self, numbers: Numbers, is_page_open: bool) -> None:
        self._numbers = numbers
        self._is_page_open = is_page_open

    def __repr__(self) -> str:
        return _notebook_html.as_text(self._numbers)

    def _repr_html_(self) -> str:
        return _notebook_html.as_html(self._numbers, self._is_page_open)


class Notebook:
    """The extension in one shell of IPython."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.cells = Cells(lambda name: gpumemtrace._push(name.encode()), gpumemtrace._pop)
        self._compile_cache = shell.compile.cache

    def load(self) -> None:
        self._shell.events.register("pre_run_cell", self._before)
        self._shell.events.register("post_run_cell", self._after)
        self._shell.compile.cache = self._cache
        self._shell.register_magic_function(self.cell_magic, "cell", "gpumemtrace")
        self._shell.register_magic_function(self.line_magic, "line", "gpumemtrace")

    def unload(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._before)
        self._shell.events.unregister("post_run_cell", self._after)
        self._shell.compile.cache = self._compile_cache
        for kind in ("cell", "line"):
            self._shell.magics_manager.magics[kind].pop("gpumemtrace", None)

    def _before(self, info: Any) -> None:
        self.cells.begin(str(info.raw_cell))

    def _after(self, _: Any) -> None:
        self.cells.end()

    def _cache(self, code: str, number: int = 0, *arguments: Any, **more: Any) -> Any:
        """Takes the place of the compiler's `cache`, which knows the number and the file name of each cell."""
        name = self._compile_cache(code, self.cells.number_of(number), *arguments, **more)
        self.cells.compiled(str(name))
        return name

    def _fail(self, message: str) -> NoReturn:
        """Ends a magic with one line, without a traceback."""
        raise _ipython("core.error").UsageError(f"gpumemtrace: {message}")

    def _parse(self, line: str, for_cell: bool) -> argparse.Namespace:
        parser = _parser(for_cell)
        try:
            return parser.parse_args(shlex.split(line))
        except (_UsageError, ValueError) as error:
            self._fail(f"{error}: {' '.join(parser.format_usage().split())}")

    def _show(self, cell: Cell, options: argparse.Namespace) -> None:
        _ipython("display").display(_Output(measure(cell, not options.no_page), options.page))

    def line_magic(self, line: str) -> None:
        """`%gpumemtrace [N]`: shows what cell N allocated, left and peaked at. Default: the last cell that ran."""
        options = self._parse(line, for_cell=False)
        if not _has_recorder():
            self._fail(_NO_RECORDER)
        cell = self.cells.last if options.cell is None else self.cells.by_number.get(options.cell)
        if cell is None:
            self._fail("no cell has run yet" if options.cell is None else f"there is no cell In [{options.cell}]")
        try:
            self._show(cell, options)
        except CellError as error:
            self._fail(str(error))

    def cell_magic(self, line: str, body: str) -> None:
        """`%%gpumemtrace`: runs the cell, and shows what it allocated, left and peaked at."""
        options = self._parse(line, for_cell=True)
        if self._waits(body):
            self._fail(
                "a cell with `await` cannot run inside a magic: remove the first line, run the cell, "
                "and type %gpumemtrace in the next one"
            )
        error = self._run(body)
        cell = self.cells.current()
        if not _has_recorder():
            print(f"gpumemtrace: {_NO_RECORDER}", file=sys.stderr)
        elif cell and not isinstance(error, SyntaxError):
            try:
                self._show(cell, options)
            except CellError as problem:
                print(f"gpumemtrace: {problem}", file=sys.stderr)
        if error is not None:
            # The cell has failed: "Run all" must stop. The traceback was shown already.
            raise _without_traceback(error)

    def _waits(self, body: str) -> bool:
        """Returns whether the cell needs an event loop although one runs already."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        # IPython's transformation of broken code raises SyntaxError; the cell will show it.
        try:
            return bool(self._shell.should_run_async(body, transformed_cell=self._shell.transform_cell(body)))
        except SyntaxError:
            return False

    def _run(self, body: str) -> BaseException | None:
        """Runs the text below the magic. Returns the exception that ended it; IPython has shown it."""
        if body.lstrip().startswith("%%"):
            # A cell magic must come first.
            self.cells.expect_inside(1)
        else:
            # With a line in place of the magic's, tracebacks have the line numbers of the cell.
            self.cells.expect_inside(0)
            body = f"# %%gpumemtrace\n{body}"
        result = self._shell.run_cell(body, store_history=False)
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error


def _ipython(name: str) -> Any:
    """Returns a module of IPython, which only a notebook needs."""
    return importlib.import_module(f"IPython.{name}")


def _has_recorder() -> bool:
    return gpumemtrace._push is not gpumemtrace._ignore


def _without_traceback(error: BaseException) -> BaseException:
    """Returns the exception in a form of which IPython shows no traceback."""
    if isinstance(error, SyntaxError):
        # IPython shows these in a way of its own.
        error = type(type(error).__name__, (Exception,), {})(str(error))
    try:
        error._render_traceback_ = list  # type: ignore[attr-defined]
    except AttributeError:
        pass  # an exception with __slots__ is shown twice
    return error


_loaded: dict[int, Notebook] = {}


def load(shell: Any) -> None:
    """Adds the magics to a shell of IPython. A second call does nothing."""
    if id(shell) not in _loaded:
        _loaded[id(shell)] = Notebook(shell)
        _loaded[id(shell)].load()


def unload(shell: Any) -> None:
    """Removes the magics from a shell of IPython."""
    notebook = _loaded.pop(id(shell), None)
    if notebook:
        notebook.unload()
