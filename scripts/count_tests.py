#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: scripts/count_tests.py FOLDER...

Summarizes the last test run in each build folder, as Meson recorded it. Prints each skipped test with its reason, each
failed test with its messages, and as last line "N passed, M failed, K skipped".

For a run that did not take place, give skipped:REASON or failed:REASON instead of a folder.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES = 60  # printed of each failed file, at most
NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
SKIP = re.compile(r"ok \d+ (.*?)# skip *(.*)", re.IGNORECASE)


def verdict(case):
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in tags else "passed"


def parse(path):
    """Reads Meson's results. Meson copies what tests print, and control characters in it are no XML."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return ElementTree.fromstring(NO_XML.sub("?", file.read()))


def count_cases(path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for suite in parse(path).iter("testsuite"):
        cases = [verdict(case) for case in suite.iter("testcase")]
        for one in cases:
            counts[one] += 1
        # If a program dies or exceeds its time, Meson reports the file as failed, and none of its tests.
        if int(suite.get("errors", 0)) + int(suite.get("failures", 0)) and "failed" not in cases:
            counts["failed"] += 1
    return counts


def failures_of(lines):
    """Returns the "not ok" lines with their diagnostics: cmocka prints these before the line, tests in Python after it."""
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
    """Keeps the beginning, with the first failure, and the end, with the last one."""
    half = LINES // 2
    return lines if len(lines) <= LINES else [*lines[:half], f"... {len(lines) - LINES} more lines", *lines[-half:]]


def print_run(run):
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
    # Without "not ok" lines the program died, or does not print TAP: print the end of its output.
    shown = failures_of(lines) or [*lines, *run.get("stderr", "").splitlines()][-LINES:]
    for line in bounded(shown):
        print("  " + line)


def main():
    if not sys.argv[1:] or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 2
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for build in sys.argv[1:]:
        what, _, reason = build.partition(":")
        if what in counts:
            print(f"{what}: {reason}")
            counts[what] += 1
            continue
        logs = os.path.join(build, "meson-logs")
        for what, count in count_cases(os.path.join(logs, "testlog.junit.xml")).items():
            counts[what] += count
        with open(os.path.join(logs, "testlog.json"), encoding="utf-8") as log:
            for line in log:
                print_run(json.loads(line))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
