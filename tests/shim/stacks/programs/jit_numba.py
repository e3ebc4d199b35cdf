# SPDX-License-Identifier: MIT
"""jit_numba.py LIBRARY COUNT: machine code of LLVM allocates COUNT times, three compiled functions deep; two sizes stay."""

import ctypes
import sys

import numba

library = ctypes.CDLL(sys.argv[1])
allocate = library.jit_allocate
allocate.argtypes = [ctypes.c_int64, ctypes.c_int]
allocate.restype = ctypes.c_int


@numba.njit
def innermost(size, is_freed):
    return allocate(size, is_freed) * 2


@numba.njit
def middle(size, is_freed):
    # More than registers hold: the compiler has reason for a frame.
    total = 0.0
    for i in range(8):
        total += (size * i) ** 0.5
    return innermost(size, is_freed) + (1 if total < 0 else 0)


@numba.njit
def outermost(count):
    failed = 0
    for i in range(count):
        failed += middle(1000 + i, 1)
    return failed + middle(4711, 0)


def python_caller(count):
    return outermost(count)


print(python_caller(int(sys.argv[2])) + innermost(4712, 0))
