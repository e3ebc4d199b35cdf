# SPDX-License-Identifier: MIT
"""usage: list_suite_tests.py FOLDER targets|tests SUITE...

Lists the tests of these suites that need compiled files, in a configured build folder. `tests` prints the names of the
tests, `targets` the files to build for them, one a line.
"""

import json
import os
import subprocess
import sys


def introspect(folder, what):
    return json.loads(subprocess.check_output(["meson", "introspect", folder, "--" + what]))


def main():
    folder, what, *suites = sys.argv[1:]
    tests = [
        test
        for test in introspect(folder, "tests")
        if test["depends"] and {suite.rpartition(":")[2] for suite in test["suite"]} & set(suites)
    ]
    if what == "tests":
        print(*(test["name"] for test in tests), sep="\n")
        return
    needed = {target for test in tests for target in test["depends"]}
    files = {file for target in introspect(folder, "targets") if target["id"] in needed for file in target["filename"]}
    print(*sorted(os.path.relpath(file, os.path.realpath(folder)) for file in files), sep="\n")


if __name__ == "__main__":
    main()
