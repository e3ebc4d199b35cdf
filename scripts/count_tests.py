# SPDX-License-Identifier: MIT
"""count_tests.py FOLDER...: what a reader of the log alone needs of the runs that Meson recorded in these build folders.
What stands for a run that there was none of is "skipped:REASON" or "failed:REASON".

Prints which tests were skipped and why, what failed and how it was told, and, last, "N passed, M failed, K skipped".
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES = 60  # of each failed file
SKIP = re.compile(r"ok \d+ (.*?)# skip *(.*)", re.IGNORECASE)


def verdict(case):
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in tags else "passed"


def counted(path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        cases = [verdict(case) for case in suite.iter("testcase")]
        for one in cases:
            counts[one] += 1
        # A program that died or timed out says so of the file, not of one of its tests.
        if int(suite.get("errors", 0)) + int(suite.get("failures", 0)) and "failed" not in cases:
            counts["failed"] += 1
    return counts


def failures_of(lines):
    """Each "not ok" line, with the diagnostics around it: cmocka has them before, ours behind."""
    found, diagnostics = [], []
    is_failed = False
    for line in lines:
        if line.startswith("#"):
            (found if is_failed else diagnostics).append(line)
        elif line.startswith(("ok ", "not ok ")):
            is_failed = line.startswith("not ok ")
            found += [*diagnostics, line] if is_failed else []
            diagnostics = []
    return found


def bounded(lines):
    """The beginning says what failed first, the end of a trace why."""
    half = LINES // 2
    return lines if len(lines) <= LINES else [*lines[:half], f"... {len(lines) - LINES} more lines", *lines[-half:]]


def tell(run):
    lines = run.get("stdout", "").splitlines()
    for line in lines:
        skipped = SKIP.match(line)
        if skipped:
            print(f"skipped: {run['name']}: {skipped[1].strip(' -')}: {skipped[2]}")
        if line.startswith("# PyTorch aborted"):
            print(f"{run['name']}: {line[2:]}")
    if run["result"] in ("OK", "SKIP", "EXPECTEDFAIL"):
        return
    print(f"failed: {run['name']}: {run['result']}, exit code {run['returncode']}")
    # A program that is no TAP, or died: the end of what it said.
    shown = failures_of(lines) or [*lines, *run.get("stderr", "").splitlines()][-LINES:]
    for line in bounded(shown):
        print("  " + line)


def main():
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for build in sys.argv[1:]:
        what, _, reason = build.partition(":")
        if what in counts:
            print(f"{what}: {reason}")
            counts[what] += 1
            continue
        logs = os.path.join(build, "meson-logs")
        for what, count in counted(os.path.join(logs, "testlog.junit.xml")).items():
            counts[what] += count
        with open(os.path.join(logs, "testlog.json"), encoding="utf-8") as log:
            for line in log:
                tell(json.loads(line))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
