# SPDX-License-Identifier: MIT
"""The table at the end of the run, and the properties in JUnit files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional
from xml.etree import ElementTree

import pytest

from gpumemtrace._pytest_limits import show_size
from gpumemtrace._pytest_numbers import Phase
from gpumemtrace._pytest_restart import Folder

_PREFIX = "gpumemtrace_"


def is_worker(config: pytest.Config) -> bool:
    """Returns whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


@dataclass(frozen=True, order=True)
class TestNumbers:
    """The numbers of one test with its fixtures, on the GPU where its peak was highest."""

    __test__ = False  # not a class of tests

    peak_bytes: int = 0  # above what was held when the test began
    left_bytes: int = 0  # held at the end of the test, minus at its begin
    allocations: int = 0
    allocated_bytes: int = 0

    @classmethod
    def of(cls, phase: Phase) -> TestNumbers:
        """Returns the numbers of a test with this phase."""
        usages = [row.usage for row in phase.find(None, None)]
        numbers = (
            cls(one.peak_above_begin_bytes, one.left_bytes, one.allocations, one.allocated_bytes) for one in usages
        )
        return max(numbers, default=cls())

    def properties(self) -> list[tuple[str, object]]:
        return [(_PREFIX + name, value) for name, value in asdict(self).items()]


class Summary:
    """The numbers of all tests, of this process and of its workers."""

    def __init__(self, config: pytest.Config, folder: Optional[Folder]) -> None:
        self.config = config
        self.folder = folder
        self.tests: dict[str, TestNumbers] = {}
        self.why_not: Optional[str] = None  # why this process is not recorded
        self.why_incomplete: Optional[str] = None
        self.unchecked = 0
        self.has_run = False  # a test has run, here or in a worker
        self.junit: dict[str, Any] = {}

    def pack(self) -> dict[str, Any]:
        """Returns the plain values that a worker sends to the process that started it."""
        return {
            "tests": {test: asdict(numbers) for test, numbers in self.tests.items()},
            "why_not": self.why_not,
            "why_incomplete": self.why_incomplete,
            "unchecked": self.unchecked,
        }

    def unpack(self, packed: dict[str, Any]) -> None:
        self.tests.update({test: TestNumbers(**numbers) for test, numbers in packed["tests"].items()})
        self.why_not = self.why_not or packed["why_not"]
        self.why_incomplete = self.why_incomplete or packed["why_incomplete"]
        self.unchecked += packed["unchecked"]

    def note_incomplete(self, why: Optional[str]) -> None:
        self.why_incomplete = self.why_incomplete or why

    def expect(self, report: pytest.TestReport) -> None:
        """Remembers where the JUnit file of this run, if there is one, has this test."""
        self.has_run = True
        if report.when != "setup":
            return
        try:
            from _pytest.junitxml import xml_key

            xml = self.config.stash.get(xml_key, None)
            if xml is not None:
                self.junit[report.nodeid] = xml.node_reporter(report)
        except (ImportError, AttributeError):
            pass  # these parts of pytest are not public; a later version may lack them

    def add_to_junit(self) -> None:
        """Adds the numbers to the JUnit file, for tests that did not have them when they ended."""
        for test, numbers in self.tests.items():
            if test not in self.junit:
                continue
            element = self.junit[test].to_xml()
            properties = element.find("properties")
            if properties is None:
                properties = ElementTree.Element("properties")
                element.insert(0, properties)
            names = {one.get("name") for one in properties}
            for name, value in numbers.properties():
                if name not in names:
                    ElementTree.SubElement(properties, "property", name=name, value=str(value))

    def show(self, terminal: pytest.TerminalReporter) -> None:
        if not self.has_run:
            return
        if self.why_not:
            limits = f"; limits that were not checked: {self.unchecked}" if self.unchecked else ""
            terminal.write_line(f"gpumemtrace: nothing was recorded: {self.why_not}{limits}", yellow=True)
            return
        if self.why_incomplete:
            terminal.write_line(f"gpumemtrace: the numbers may be incomplete: {self.why_incomplete}", yellow=True)
        if not self.config.option.hide_gpumemtrace_summary:
            self._show_table(terminal)
        if self.folder and self.folder.is_kept:
            terminal.write_line(f"gpumemtrace: the recordings are in {self.folder.path}")

    def _most(self) -> int:
        option = self.config.option.gpumemtrace_most_allocations
        return int(self.config.getini("gpumemtrace_most_allocations")) if option is None else int(option)

    def _show_table(self, terminal: pytest.TerminalReporter) -> None:
        used = {test: numbers for test, numbers in self.tests.items() if numbers.allocations or numbers.left_bytes}
        terminal.section("GPU memory (gpumemtrace)")
        if not used:
            terminal.write_line("no test allocated GPU memory")
            return
        order = sorted(used.items(), key=lambda pair: (-pair[1].peak_bytes, pair[0]))
        most = self._most() or len(order)
        terminal.write_line(f"{'peak':>10} {'left':>10} {'allocations':>11}  test")
        for test, numbers in order[:most]:
            terminal.write_line(
                f"{show_size(numbers.peak_bytes):>10} {show_size(numbers.left_bytes):>10} "
                f"{numbers.allocations:>11,}  {test}"
            )
        if len(order) > most:
            terminal.write_line(f"and {len(order) - most} more; --gpumemtrace-most-allocations=0 shows all")
