# SPDX-License-Identifier: MIT
"""Starts pytest again under the recorder, and finds the folder of the recordings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Optional

import pytest

import gpumemtrace
from gpumemtrace import _program

# "PID:KEPT:FOLDER" in a pytest that was started again, and in its children: the process that owns the folder.
GUARD = "GPUMEMTRACE_PYTEST"


@dataclass(frozen=True)
class Folder:
    """The folder of this run's recordings."""

    path: str
    is_kept: bool
    is_own: bool  # this process made it, and removes it


def find_folder() -> Optional[Folder]:
    """Returns the folder, or None if pytest was not started again."""
    owner, _, rest = os.environ.get(GUARD, "").partition(":")
    kept, _, path = rest.partition(":")
    return Folder(path, kept == "kept", owner == str(os.getpid())) if path else None


def why_not_recorded() -> Optional[str]:
    """Returns why this process is not recorded, or None if the recorder is there."""
    if gpumemtrace.is_recording():
        return None
    return _program.why_unsuitable() or "the recorder is not loaded"


def _words() -> list[str]:
    """Returns the words of the command line that started this process, without the program's name."""
    words = getattr(sys, "orig_argv", None)  # from Python 3.10 on
    if words is None:
        with open("/proc/self/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    return list(words[1:])


def _is_started_by_command() -> bool:
    """Returns whether pytest's own command runs, and not a program that calls pytest.main()."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name.endswith("console_main") and frame.f_globals.get("__name__", "").startswith("_pytest."):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _option(config: pytest.Config, name: str) -> Any:
    """Returns an option.

    Before pytest has parsed all options, ``known_args_namespace`` has it. For a plugin of conftest.py, only
    ``config.option`` has it.
    """
    known = config.known_args_namespace
    return getattr(known, name) if hasattr(known, name) else getattr(config.option, name, None)


def _only_prints(config: pytest.Config) -> bool:
    """Returns whether this run only prints something, such as --help."""
    names = ("help", "version", "markers", "showfixtures", "show_fixtures_per_test", "collectonly", "setupplan")
    return any(_option(config, name) for name in names)


def _environment(folder: str, is_kept: bool) -> dict[str, str]:
    """Returns the environment of the new pytest. Raises UsageError if there is no recorder."""
    program = _program.find()
    # A `%` in the folder's name is no token of the recording's name.
    pattern = os.path.join(folder.replace("%", "%%"), "gpumemtrace.%e.%h.%p.gmt.gz")
    command = [program, "env", "--json", f"--output={pattern}", "--overflow=wait", "--writer=thread"]
    if not is_kept:
        # The recorder would warn that the file was removed. The end of the run shows what is missing in a recording.
        command.append("--verbosity=0")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise pytest.UsageError(f"--gpumemtrace: cannot start {program}: {error.strerror}") from None
    if done.returncode:
        raise pytest.UsageError(f"--gpumemtrace: {done.stderr.strip()}")
    variables: dict[str, str] = json.loads(done.stdout)["variables"]
    environment = {**os.environ, GUARD: f"{os.getpid()}:{'kept' if is_kept else 'removed'}:{folder}"}
    for name, value in variables.items():
        # The user's own options stay, but the output is the run's.
        before = environment.get(name)
        if name == "LD_PRELOAD":
            environment[name] = f"{value}:{before}" if before else value
        else:
            environment[name] = f"{before}:{value}" if before else value
    return environment


def _make_folder(config: pytest.Config) -> tuple[str, bool]:
    wanted = _option(config, "gpumemtrace_output")
    if not wanted:
        return tempfile.mkdtemp(prefix="gpumemtrace-pytest."), False
    path = os.path.join(str(config.invocation_params.dir), wanted)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"--gpumemtrace-output: {path}: {error.strerror}") from None
    return path, True


def restart(config: pytest.Config) -> None:
    """Starts pytest again under the recorder, unless this is not needed or not possible."""
    mode = _option(config, "gpumemtrace_restart")
    if GUARD in os.environ or mode == "never" or gpumemtrace.is_recording() or _only_prints(config):
        return
    if _program.why_unsuitable():
        return
    if mode == "auto" and not _is_started_by_command():
        raise pytest.UsageError(
            f"--gpumemtrace: {sys.argv[0] or 'this program'} called pytest.main(). pytest must start again under the "
            "recorder, and that would run this program again from its first line. Add --gpumemtrace-restart=always "
            "if it may, or start the program itself by `gpumemtrace run`"
        )
    if not sys.executable:
        raise pytest.UsageError("--gpumemtrace: Python does not know its own program (sys.executable)")
    folder, is_kept = _make_folder(config)
    try:
        environment = _environment(folder, is_kept)
        # The new pytest must get the streams of this one, not its temporary files.
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *_words()], environment)
    finally:
        # Only a failure comes here, before there is a recording.
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
