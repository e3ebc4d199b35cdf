# SPDX-License-Identifier: MIT
"""The pytest plugin: limits and numbers of GPU memory for each test. docs/pytest.md describes it.

pytest imports this module in every run. It imports the rest of the plugin only with ``--gpumemtrace``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gpumemtrace._pytest_numbers import GpuMemory

MARKERS = (
    "limit_gpu_memory(limit, *, device=None, layer=None): with --gpumemtrace, fail the test if it holds more GPU "
    'memory at once, above what was held when it began. limit: bytes, or text such as "2 GiB" or "500 MB".',
    "limit_gpu_leaks(limit, *, warmups=0, device=None, layer=None): with --gpumemtrace, fail the test if more GPU "
    "memory is held after it than before. The test first runs `warmups` more times, which do not count.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpumemtrace", "GPU memory of each test (gpumemtrace)")
    group.addoption(
        "--gpumemtrace",
        action="store_true",
        help="Record the GPU memory of each test and check its limits. Starts pytest again under the recorder",
    )
    group.addoption(
        "--gpumemtrace-output",
        metavar="DIR",
        help="Keep the recordings in this folder (default: a temporary folder that is removed at the end)",
    )
    group.addoption(
        "--gpumemtrace-most-allocations",
        metavar="N",
        type=int,
        help="Show the N tests with the highest peaks at the end (default: 5; 0: all)",
    )
    group.addoption("--hide-gpumemtrace-summary", action="store_true", help="Do not show the table at the end")
    group.addoption(
        "--gpumemtrace-stacks",
        metavar="N",
        type=int,
        default=3,
        help="Show N lines of the stack for each line in the message of a failed limit (default: 3)",
    )
    group.addoption(
        "--gpumemtrace-native", action="store_true", help="Show native frames in the message of a failed limit"
    )
    group.addoption(
        "--gpumemtrace-restart",
        choices=("auto", "always", "never"),
        default="auto",
        help="Whether pytest may start again under the recorder. auto: if the command pytest started it, but not in "
        "a program that calls pytest.main(), which would run again from its first line",
    )
    parser.addini("gpumemtrace", "Record in each run, as with --gpumemtrace", type="bool", default=False)
    parser.addini("gpumemtrace_most_allocations", "The same as --gpumemtrace-most-allocations", default="5")


def is_wanted(config: pytest.Config) -> bool:
    """Returns whether the user asked for a recording."""
    options = (config.known_args_namespace, config.option)
    return any(getattr(one, "gpumemtrace", False) for one in options) or bool(config.getini("gpumemtrace"))


def _restart(config: pytest.Config) -> None:
    if is_wanted(config) and "PYTEST_XDIST_WORKER" not in os.environ:
        from gpumemtrace import _pytest_restart

        _pytest_restart.restart(config)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    _restart(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    # A plugin that a conftest.py names in `pytest_plugins` does not get the hook above.
    _restart(config)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if is_wanted(config):
        from gpumemtrace import _pytest_session

        _pytest_session.register(config)


@pytest.fixture
def gpu_memory(request: pytest.FixtureRequest) -> GpuMemory:
    """Returns the numbers of the test's GPU memory while it runs. Skips the test without --gpumemtrace."""
    if not is_wanted(request.config):
        pytest.skip("the fixture gpu_memory needs pytest --gpumemtrace")
    from gpumemtrace import _pytest_session

    return _pytest_session.fixture(request)
