# SPDX-License-Identifier: MIT
"""Finds threads of a process by their names, and waits for their states. The recorder's threads have no other mark.

A new thread has its parent's name until it runs. A listed thread may have ended since.
"""

import os
import time

PATIENCE_S = int(os.environ.get("GMT_TEST_WAIT_S", "120"))  # a wait this long means that the state never comes
WRITER, SAMPLER = "gpumemtrace", "gmt-sampler"


def wait_until(holds, what, is_over=lambda: False):
    """Calls `holds` until it returns something true, and returns that. Polls, because nothing reports such states."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        was_over = is_over()
        found = holds()
        if found:
            return found
        if was_over:
            break
        time.sleep(0.002)
    raise AssertionError(f"this did not happen: {what}")


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def numbers(pid="self"):
    try:
        return sorted(int(task) for task in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return []


def name_of(task, pid="self"):
    """Returns the name of a thread, or an empty text if it has ended."""
    return _read(f"/proc/{pid}/task/{task}/comm").removesuffix("\n")


def names(pid="self"):
    return [name for name in (name_of(task, pid) for task in numbers(pid)) if name]


def named(name, pid="self"):
    """Returns the number of the first thread with this name, or None."""
    return next((task for task in numbers(pid) if name_of(task, pid) == name), None)


def wait_for(name, pid="self", is_over=lambda: False):
    """Waits for a thread with this name and returns its number. `is_over`: whether the process has ended."""
    return wait_until(lambda: named(name, pid), f"a thread named {name}", is_over)


def sleeps(task, pid="self"):
    """Returns how often a thread has gone to sleep by itself, or None while it is awake."""
    status = dict(line.split(":", 1) for line in _read(f"/proc/{pid}/task/{task}/status").splitlines() if ":" in line)
    return int(status["voluntary_ctxt_switches"]) if status and status["State"].split()[0] == "S" else None


def wait_for_turn(task, pid="self", meanwhile=lambda: None, is_over=lambda: False):
    """Waits until a thread that sleeps between its turns has finished a whole turn. `meanwhile` may cause the turn."""

    def asleep():
        meanwhile()
        return sleeps(task, pid) is not None

    def again():
        meanwhile()
        now = sleeps(task, pid)
        return now is not None and now > before

    wait_until(asleep, "a thread that sleeps", is_over)
    before = sleeps(task, pid)
    while before is None:
        before = sleeps(task, pid)
    wait_until(again, "a thread that has finished its turn", is_over)
