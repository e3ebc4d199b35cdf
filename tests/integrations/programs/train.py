# SPDX-License-Identifier: MIT
"""A program of a user, on the driver alone: usage: train.py [leak] [fail] [killed] [short]

Each of 20 steps allocates 1 MiB in a function and frees it. With `leak`, it keeps the memory. With `fail`, the program
ends with code 7. With `killed`, rank 1 kills itself before its end. With `short`, there are only 2 steps.
"""

import ctypes
import os
import signal
import sys

cuda = ctypes.CDLL("libcuda.so.1")
STEPS = 2 if "short" in sys.argv else 20
MIB = 1 << 20

try:
    from gpumemtrace import step
except ImportError:  # the marks are not installed for this Python

    def step():
        pass


def call(name, *arguments):
    error = getattr(cuda, name)(*arguments)
    if error:
        raise SystemExit(f"{name}: error {error}")


def allocate(size_bytes):
    block = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(size_bytes))
    return block


def rank():
    names = "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"
    return next((os.environ[name] for name in names if name in os.environ), "0")


def main():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    for _ in range(STEPS):
        block = allocate(MIB)
        if "leak" not in sys.argv:
            call("cuMemFree_v2", block)
        step()
    if "killed" in sys.argv and rank() == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    print(f"rank {rank()} ran {STEPS} steps", flush=True)
    sys.exit(7 if "fail" in sys.argv else 0)


main()
