# SPDX-License-Identifier: MIT
"""What `gpumemtrace top --json` says of a running program (running.py)."""

import json

from running import wait_for

MiB = 1 << 20


def top(run, *arguments):
    """Returns the rows of `top --json`, after a check of its exit code."""
    done = run.run_cli("top", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["processes"]


def wait_for_row(run, is_right, *arguments):
    """Waits until the row of the process is right: the recorder writes its file once a second."""

    def look():
        rows = [row for row in top(run, *arguments) if "devices" in row]
        return rows if rows and is_right(rows[0]) else None

    return wait_for(look)[0]


def gpu(row):
    return next((device for device in row["devices"] if device["device"] == 0), {"cuda_bytes": None})
