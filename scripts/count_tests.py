# SPDX-License-Identifier: MIT
"""count_tests.py JUNIT_XML: prints "N passed, M failed, K skipped" for what Meson recorded."""
import sys
import xml.etree.ElementTree as ElementTree


def verdict(case):
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in tags else "passed"


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for suite in ElementTree.parse(sys.argv[1]).getroot().iter("testsuite"):
        cases = [verdict(case) for case in suite.iter("testcase")]
        for one in cases:
            counts[one] += 1
        # A program that died or timed out says so of the file, not of one of its tests.
        if int(suite.get("errors", 0)) + int(suite.get("failures", 0)) and "failed" not in cases:
            counts["failed"] += 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
