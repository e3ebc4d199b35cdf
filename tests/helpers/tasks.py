# SPDX-License-Identifier: MIT
"""Waits for conditions. Finds the threads (Linux: tasks) of a process by their names, and waits for their states.

A new thread has its parent's name until it runs. A thread that was listed may have ended since.
"""

import os
import time

WAIT_LIMIT_S = int(os.environ.get("GMT_TEST_WAIT_S", "120"))  # no condition of a test takes so long
WRITER, SAMPLER = "gpumemtrace", "gmt-sampler"  # names of the recorder's threads


def wait_until(condition, what, has_ended=lambda: False):
    """
    Calls `condition` until it returns a true value, and returns this value. `what` names the condition in the error.

    When `has_ended()` is true, the condition is tried only once more.
    """
    deadline = time.monotonic() + WAIT_LIMIT_S
    while time.monotonic() < deadline:
        is_last_try = has_ended()
        found = condition()
        if found:
            return found
        if is_last_try:
            break
        time.sleep(0.002)
    raise AssertionError(f"this did not happen: {what}")


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def thread_ids(pid="self"):
    try:
        return sorted(int(task) for task in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return []


def thread_name(task, pid="self"):
    """Returns the name of a thread, or an empty text if it has ended."""
    return _read(f"/proc/{pid}/task/{task}/comm").removesuffix("\n")


def thread_names(pid="self"):
    return [name for name in (thread_name(task, pid) for task in thread_ids(pid)) if name]


def find_thread(name, pid="self"):
    """Returns the id of the first thread with this name, or None."""
    return next((task for task in thread_ids(pid) if thread_name(task, pid) == name), None)


def wait_for_thread(name, pid="self", has_ended=lambda: False):
    """Waits for a thread with this name and returns its id. `has_ended`: whether the process has ended."""
    return wait_until(lambda: find_thread(name, pid), f"a thread named {name}", has_ended)


def sleep_count(task, pid="self"):
    """Returns how often a thread has gone to sleep by itself, or None while it does not sleep."""
    status = dict(line.split(":", 1) for line in _read(f"/proc/{pid}/task/{task}/status").splitlines() if ":" in line)
    return int(status["voluntary_ctxt_switches"]) if status and status["State"].split()[0] == "S" else None


def wait_for_turn(task, pid="self", meanwhile=lambda: None, has_ended=lambda: False):
    """Waits until a thread that sleeps between its turns has finished a whole turn. `meanwhile` may cause the turn."""

    def asleep():
        meanwhile()
        return sleep_count(task, pid) is not None

    def again():
        meanwhile()
        now = sleep_count(task, pid)
        return now is not None and now > before

    wait_until(asleep, "a thread that sleeps", has_ended)
    before = sleep_count(task, pid)
    while before is None:
        before = sleep_count(task, pid)
    wait_until(again, "a thread that has finished its turn", has_ended)
