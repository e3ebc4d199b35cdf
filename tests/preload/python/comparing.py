# SPDX-License-Identifier: MIT
"""One enabled capture, and the comparison that most tests make."""

import ctypes
import os
import sys
import unittest

import capturing

capture = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
state, why = capture.init()
assert state == capturing.ON, (state, why)

here = sys._getframe
DEPTH = 1024


def take(depth=DEPTH, functions=capture.held):
    """Returns the id of the caller's stack, which includes this function as the innermost frame."""
    return functions.test_capture(depth, None, None)


class Compared(unittest.TestCase):
    maxDiff = 4000

    def check(self, frame, functions=None):
        """Checks that the capture equals the stack from `frame` on. The entry bits must add up to the native runs."""
        for library in [functions] if functions else [capture.held, capture.released]:
            runs = ctypes.c_uint32()
            number = library.test_capture(DEPTH, ctypes.byref(runs), None)
            truncated, frames = capture.decode(number)
            self.assertFalse(truncated)
            self.assertEqual([place[1:] for place in frames[1:]], capturing.walk(frame))
            self.assertEqual(frames[0][1], capturing.name_of(Compared.check.__code__))
            if sys.version_info < (3, 11):
                self.assertTrue(all(place[0] for place in frames))
            if runs.value:  # 0: this build does not show where its loop is
                self.assertEqual(sum(place[0] for place in frames), runs.value)
        return frames[1:]
