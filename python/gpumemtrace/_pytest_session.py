# SPDX-License-Identifier: MIT
"""The part of the plugin that runs with --gpumemtrace: a phase for each test, limits, and numbers."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections.abc import Generator
from typing import Any, Optional

import pytest

import gpumemtrace
from gpumemtrace import _pytest_restart
from gpumemtrace._pytest_limits import Limit, read_limit, show_size
from gpumemtrace._pytest_lines import held_lines, show_lines
from gpumemtrace._pytest_numbers import (
    GpuMemory,
    NotReadable,
    OpenPhase,
    Phase,
    Recording,
    Row,
    Snapshot,
    phases_of,
    read_reports,
    recordings_in,
    short_name,
    why_incomplete,
)
from gpumemtrace._pytest_summary import Summary, TestNumbers, is_worker

# The phase of a whole test has the test's name. If the test runs again, an end follows.
_TEST = re.compile(r"(.*?)(?: \(run \d+\))?", re.DOTALL)
MEMORY, LEAKS = "limit_gpu_memory", "limit_gpu_leaks"
_PLUGIN = "gpumemtrace session"


def register(config: pytest.Config) -> None:
    """Adds the session to pytest, once."""
    if int(pytest.__version__.split(".")[0]) < 8:
        raise pytest.UsageError(f"--gpumemtrace needs pytest 8 or later; this is {pytest.__version__}")
    if not config.pluginmanager.has_plugin(_PLUGIN):
        config.pluginmanager.register(Session(config), _PLUGIN)


def fixture(request: pytest.FixtureRequest) -> GpuMemory:
    session = request.config.pluginmanager.get_plugin(_PLUGIN)
    assert isinstance(session, Session)
    if session.why_not:
        pytest.skip(f"gpumemtrace: {session.why_not}")
    return GpuMemory(session.recording, session.now)


def _read_limits(item: pytest.Item) -> list[Limit]:
    return [limit for limit in (read_limit(item, MEMORY), read_limit(item, LEAKS)) if limit]


class Session:
    """The hooks of one pytest process: the only one, a worker of xdist, or the one that starts workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.why_not = _pytest_restart.why_not_recorded()
        self.folder = _pytest_restart.find_folder()
        self.recording = Recording(self.folder.path if self.folder else None)
        self.now = OpenPhase()
        self.runs: dict[str, int] = {}  # how often each name of a phase was used
        self.tests: dict[str, str] = {}  # the collected tests, by the name of their phase
        self.unchecked = 0  # limits that were not checked, because nothing is recorded
        self.summary = Summary(config, self.folder)

    # --- a phase for each part of a test

    def _phase(self, item: pytest.Item, end: str) -> gpumemtrace.phase:
        name = short_name(item.nodeid, end)
        self.runs[name] = self.runs.get(name, 0) + 1
        if self.runs[name] > 1:
            name = short_name(item.nodeid, f"{end} (run {self.runs[name]})")
        self.now.open_phase = name
        return gpumemtrace.phase(name)

    # pytest drops the values of fixtures after the teardown. Therefore the whole test has a phase too.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._phase(item, ""):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._phase(item, " (setup)"):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._phase(item, " (teardown)"):
            return (yield)

    # The innermost wrapper: pytest must capture the output of further runs too.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        limits, wrong = [], ""
        try:
            limits = _read_limits(item)
        except pytest.UsageError as error:
            wrong = str(error)
        if wrong:
            pytest.fail(wrong, pytrace=False)
        if self.why_not:
            self.unchecked += len(limits)
            return (yield)
        leaks = next((limit for limit in limits if limit.marker == LEAKS), None)
        if leaks:
            for number in range(leaks.warmups):
                with self._phase(item, f" (warmup {number + 1})"):
                    item.runtest()
            gc.collect()
        with self._phase(item, " (call)"):
            result = yield
            if leaks:
                gc.collect()
        if limits:
            self._check(item, limits)
        return result

    # --- limits

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.tests[short_name(item.nodeid)] = item.nodeid
            # A worker cannot report a usage error. There, the test fails when it runs.
            if not is_worker(self.config):
                _read_limits(item)

    def _check(self, item: pytest.Item, limits: list[Limit]) -> None:
        """Fails the test if it broke a limit."""
        try:
            with self.recording.snapshot(self.now.open_phase) as snapshot:
                self.summary.note_incomplete(snapshot.why_incomplete)
                phase = snapshot.find(self.now.open_phase)
                broken = [text for limit in limits for text in self._judge(limit, phase, snapshot)]
        except NotReadable as error:
            pytest.fail(f"gpumemtrace: the limit cannot be checked: {error}", pytrace=False)
        if broken:
            pytest.fail("\n".join(broken), pytrace=False)

    def _judge(self, limit: Limit, phase: Phase, snapshot: Snapshot) -> list[str]:
        """Returns a text for each GPU on which the limit is broken."""
        texts = []
        for row in phase.find(limit.layer, limit.device):
            usage = row.usage
            is_leak = limit.marker == LEAKS
            size_bytes = usage.left_bytes if is_leak else usage.peak_above_begin_bytes
            if size_bytes > limit.limit_bytes:
                texts.append(self._explain(limit, row, size_bytes, snapshot))
        return texts

    def _explain(self, limit: Limit, row: Row, size_bytes: int, snapshot: Snapshot) -> str:
        is_leak = limit.marker == LEAKS
        moment_ns = row.end_ns if is_leak else row.peak_ns
        size = show_size(size_bytes) + (f" ({size_bytes:,} bytes)" if size_bytes >= 1024 else "")
        where = f"on GPU {row.device}" + (f" in layer {row.layer}" if row.layer else "")
        what = f"The test left {size} {where}." if is_leak else f"The test's peak {where} was {size} above its start."
        text = [f"gpumemtrace: {what} The limit is {limit.text} ({limit.marker})."]
        assert snapshot.path is not None
        options = self.config.option
        folder = str(self.config.invocation_params.dir)
        lines = held_lines(snapshot.path, row, moment_ns, folder, options.gpumemtrace_native)
        text += show_lines(lines, options.gpumemtrace_stacks)
        recording = self.recording.find()
        if recording and (self.folder is None or self.folder.is_kept):
            text.append(f"  more: gpumemtrace report --until={moment_ns}ns {recording}")
        return "\n".join(text)

    def _read_tests(self) -> dict[str, TestNumbers]:
        """Returns the numbers of the tests that ran in this process, and in its forked children."""
        with self.recording.snapshot() as snapshot:
            phases = list(snapshot.phases)
            self.summary.note_incomplete(snapshot.why_incomplete)
        own = self.recording.find()
        others = [path for path in recordings_in(self.folder.path) if path != own] if self.folder else []
        for report in read_reports(others, "--limit=1", "--native=none"):
            if report["process"]["parent_pid"] == os.getpid():
                phases += phases_of(report)
                self.summary.note_incomplete(why_incomplete(report))
        found: dict[str, TestNumbers] = {}
        for phase in phases:
            name = _TEST.fullmatch(phase.name)
            test = self.tests.get(name[1]) if name else None
            if test:
                found[test] = max(found.get(test, TestNumbers()), TestNumbers.of(phase))
        return found

    # --- the end

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.summary.expect(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if not self.why_not and self.tests:
            try:
                self.summary.tests.update(self._read_tests())
            except NotReadable as error:
                self.summary.note_incomplete(str(error))
        self.summary.unchecked += self.unchecked
        self.summary.why_not = self.why_not
        if is_worker(self.config):
            self.config.workeroutput["gpumemtrace"] = self.summary.pack()  # type: ignore[attr-defined]
        else:
            self.summary.add_to_junit()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        packed: Optional[dict[str, Any]] = getattr(node, "workeroutput", {}).get("gpumemtrace")
        if packed:
            self.summary.unpack(packed)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.summary.show(terminalreporter)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if self.folder and self.folder.is_own and not self.folder.is_kept:
            shutil.rmtree(self.folder.path, ignore_errors=True)
