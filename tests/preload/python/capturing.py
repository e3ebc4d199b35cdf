# SPDX-License-Identifier: MIT
"""The capture library as Python sees it, and the interpreter's own stacks for comparison."""

import ctypes
import os
import shutil
import sys
import tempfile

ABSENT, ON, PENDING, REFUSED = range(4)
TRUTH, DEBUG_BUILD, OTHER_LINES, FREE_THREADED, OTHER_VERSION, OTHER_FIELDS, NO_PYTHON, OTHER_HEADER = range(8)
TEXT_BYTES = 4 << 20


class Capture:
    """One copy of the library, with its own capture state.

    `held` and `released` are its functions, called with the GIL and without it.
    """

    def __init__(self, library):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "capture.so")
            shutil.copy(library, copy)
            self.held = ctypes.PyDLL(copy)
            self.released = ctypes.CDLL(copy)
        for functions in self.held, self.released:
            functions.test_capture.restype = ctypes.c_uint32
            functions.test_take.restype = ctypes.c_uint32
            functions.test_version.restype = ctypes.c_char_p
            functions.test_bench.restype = ctypes.c_double
            functions.test_restart.argtypes = [ctypes.c_uint64]
        self.held.test_watch_code(int(os.environ.get("GMT_TEST_WATCH_CODE") != "off"))

    def init(self, lie=TRUTH, functions=None):
        """Returns the state and the reason."""
        why = ctypes.create_string_buffer(200)
        state = (functions or self.held).test_init(lie, why, len(why))
        return state, why.value.decode()

    def decode(self, number):
        """Returns whether it is cut, and each (entry, function, file, line, first line), leaf first. None is a gap."""
        space = ctypes.create_string_buffer(65536)
        length = self.held.test_decode(number, space, len(space))
        if not length:
            space = ctypes.create_string_buffer(TEXT_BYTES)
            length = self.held.test_decode(number, space, len(space))
        assert length, "no stack"
        truncated, *frames = space.raw[:length].decode().split("\x1e")
        return truncated == "1", [self.decode_frame(frame) for frame in frames]

    @staticmethod
    def decode_frame(text):
        if not text:
            return None
        entry, function, file, line, first_line = text.split("\x1f")
        return entry == "1", function, file, int(line), int(first_line)


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def walk(frame):
    """Returns the interpreter's own stack: (function, file, line, first line), leaf first."""
    found = []
    while frame:
        code = frame.f_code
        found.append((name_of(code), code.co_filename, frame.f_lineno or 0, code.co_firstlineno))
        frame = frame.f_back
    return found


def describe():
    return "%s%s" % (sys.version.split()[0], getattr(sys, "abiflags", ""))
