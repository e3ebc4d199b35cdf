# SPDX-License-Identifier: MIT
"""How the capture treats interpreters: trust, wait for proof, refuse."""

import ctypes
import os
import subprocess
import sys
import unittest

import capturing
from capturing import ABSENT, ON, PENDING, REFUSED

LIBRARY = os.environ["GMT_TEST_CAPTURE"]
IS_DEBUG = hasattr(sys, "gettotalrefcount")
HAS_OFFSETS = sys.version_info >= (3, 13)
MUST_BE_PROVEN = IS_DEBUG or sys.version_info >= (3, 16) or sys.version_info.releaselevel != "final"


class Init(unittest.TestCase):
    def setUp(self):
        self.capture = capturing.Capture(LIBRARY)

    def assert_refused(self, lie, part):
        state, why = self.capture.init(lie)
        self.assertEqual(state, REFUSED)
        self.assertIn(part, why)
        self.assertIn(sys.version.split()[0], why)
        self.assertNotIn("\n", why)
        self.assertEqual(self.capture.held.test_take(), 0)
        self.assertEqual(self.capture.released.test_take(), 0)
        self.assertEqual(self.capture.init(capturing.TRUTH), (REFUSED, why))

    def test_an_interpreter_is_accepted_while_the_gil_is_held(self):
        self.assertEqual(self.capture.init(), (ON, ""))
        self.assertNotEqual(self.capture.released.test_take(), 0)

    def test_the_capture_reports_the_interpreters_version(self):
        self.assertEqual(self.capture.held.test_version(), b"")
        self.capture.init()
        self.assertEqual(self.capture.held.test_version().decode(), sys.version.split()[0])

    @unittest.skipIf(MUST_BE_PROVEN, "needs the GIL to be believed")
    def test_a_known_version_is_accepted_without_the_gil(self):
        self.assertEqual(self.capture.init(functions=self.capture.released), (ON, ""))
        self.assertNotEqual(self.capture.released.test_take(), 0)

    def test_an_interpreter_that_needs_a_proof_waits_for_the_gil(self):
        init = self.capture.init
        self.assertEqual(init(capturing.DEBUG_BUILD, self.capture.released), (PENDING, ""))
        self.assertEqual(self.capture.released.test_take(), 0)
        self.assertEqual(init(capturing.DEBUG_BUILD, self.capture.released), (PENDING, ""))
        self.assertNotEqual(self.capture.held.test_take(), 0)
        self.assertNotEqual(self.capture.released.test_take(), 0)
        self.assertEqual(init(capturing.DEBUG_BUILD, self.capture.released), (ON, ""))

    def test_the_proof_may_also_come_from_a_later_init(self):
        self.capture.init(capturing.DEBUG_BUILD, self.capture.released)
        self.assertEqual(self.capture.init(capturing.DEBUG_BUILD), (ON, ""))

    def test_the_proof_waits_while_an_exception_is_raised(self):
        self.capture.init(capturing.DEBUG_BUILD, self.capture.released)
        with self.assertRaises(KeyError):
            self.capture.held.test_take_while_raising(ctypes.py_object(KeyError), b"ours")
        self.assertEqual(self.capture.init(capturing.DEBUG_BUILD, self.capture.released), (PENDING, ""))
        self.assertNotEqual(self.capture.held.test_take(), 0)

    def test_a_proof_that_fails_refuses_for_good(self):
        self.assert_refused(capturing.OTHER_LINES, "lines")

    def test_an_interpreter_that_starts_later_is_accepted(self):
        self.assertEqual(self.capture.init(capturing.NO_PYTHON), (ABSENT, ""))
        self.assertEqual(self.capture.held.test_take(), 0)
        self.assertEqual(self.capture.init(), (ON, ""))

    def test_objects_with_another_header_are_refused(self):
        self.assert_refused(capturing.OTHER_HEADER, "header")

    @unittest.skipUnless(HAS_OFFSETS, "no table of offsets")
    def test_a_free_threaded_build_is_refused(self):
        self.assert_refused(capturing.FREE_THREADED, "free-threaded")

    @unittest.skipUnless(HAS_OFFSETS, "no table of offsets")
    def test_offsets_of_another_version_are_refused(self):
        self.assert_refused(capturing.OTHER_VERSION, "offsets")

    @unittest.skipUnless(sys.version_info[:2] == (3, 13), "no table of offsets that we can falsify")
    def test_offsets_are_accepted_only_if_they_agree_with_the_interpreter(self):
        self.assert_refused(capturing.OTHER_FIELDS, "files")

    def test_a_thread_that_runs_no_python_has_no_stack(self):
        self.capture.init()
        self.assertEqual(self.capture.released.test_capture_without_python(), 0)

    def test_threads_that_capture_while_the_interpreter_ends_cause_no_crash(self):
        script = (
            "import atexit, sys, threading, time; sys.path.insert(0, sys.argv[1])\n"
            "import capturing\n"
            "capture = capturing.Capture(sys.argv[2]); capture.init()\n"
            "atexit.register(capture.held.test_end)\n"
            "for _ in range(16): threading.Thread(target=capture.released.test_capture_for_ever, daemon=True).start()\n"
            "time.sleep(0.05)\n"
            "class Late:\n"
            "    def __del__(self, sleep=time.sleep): sleep(0.05)\n"
            "late = Late()\n"  # dies after the states of the other threads
            "print('end')\n"
        )
        for _ in range(5):
            command = [sys.executable, "-c", script, os.path.dirname(os.path.abspath(__file__)), LIBRARY]
            ended = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=300,
                env=dict(os.environ, MALLOC_PERTURB_="165"),
            )
            self.assertEqual((ended.returncode, ended.stdout), (0, b"end\n"))


if __name__ == "__main__":
    unittest.main()
