# SPDX-License-Identifier: MIT
"""unittest with TAP output, so that Meson counts each test and a name is the sentence that it proves.

A test file ends with:  if __name__ == "__main__": tap.main()

Started with words, it runs only the tests that have one of them in their names: test_steps.py spawned
"""

import os
import sys
import traceback
import unittest

UNITTEST_FOLDER = os.path.dirname(unittest.__file__)
MAX_LINE = 1000  # characters of a line of a message that are printed


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0
        self.number_at_start = 0

    def startTest(self, test):
        super().startTest(test)
        self.number_at_start = self.number

    def stopTest(self, test):
        # A test with failed sub-tests reports neither success nor failure by itself.
        if self.number == self.number_at_start:
            self.report("not ok", test)
        super().stopTest(test)

    def report(self, verdict, test, note=""):
        self.number += 1
        name = str(test).split(" ")[0].removeprefix("test_").replace("_", " ")
        print(f"{verdict} {self.number} - {name}{note}", flush=True)

    def explain(self, error):
        """Prints the message first, then the frames: a summary may show only the first lines."""
        kind, value, trace = error
        for line in "".join(traceback.format_exception_only(kind, value)).splitlines():
            print("# " + line[:MAX_LINE])
        for frame in reversed(traceback.extract_tb(trace)):
            if not frame.filename.startswith(UNITTEST_FOLDER):
                print(f"#   at {os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}")

    def addSuccess(self, test):
        self.report("ok", test)

    def addFailure(self, test, error):
        self.report("not ok", test)
        self.explain(error)
        super().addFailure(test, error)

    def addError(self, test, error):
        self.report("not ok", test)
        self.explain(error)
        super().addError(test, error)

    def addSkip(self, test, reason):
        self.report("ok", test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            print(f"# in {subtest}")
            self.explain(error)
            super().addSubTest(test, subtest, error)


def main():
    loader = unittest.TestLoader()
    # A word is a pattern, as on unittest's own command line.
    loader.testNamePatterns = [f"*{word.replace(' ', '_')}*" for word in sys.argv[1:]] or None
    suite = loader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}", flush=True)
    result = TapResult()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
