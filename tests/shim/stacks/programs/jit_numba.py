# SPDX-License-Identifier: MIT
"""jit_numba.py LIBRARY COUNT: numba's machine code allocates COUNT times in three nested functions; two sizes stay."""

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
    # The loop needs more values than there are registers, so the compiler makes a frame.
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
