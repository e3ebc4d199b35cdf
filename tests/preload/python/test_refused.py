# SPDX-License-Identifier: MIT
"""Run with a Python that is too old: the recorder refuses it in one line and does nothing more."""

import os
import sys

import capturing

capture = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
state, why = capture.init()
assert state == capturing.REFUSED, state
assert sys.version.split()[0] in why and "\n" not in why, why
assert capture.held.test_take() == 0
assert capture.released.test_take() == 0
assert capture.init() == (state, why)
