# SPDX-License-Identifier: MIT
"""A program of a user: allocates ten blocks on the device, in two functions, and frees half of them."""

import ctypes

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    error = getattr(cuda, name)(*arguments)
    if error:
        raise SystemExit(f"{name}: error {error}")


def allocate(size_bytes):
    block = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(size_bytes))
    return block


def main():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    blocks = [allocate(1 << 20) for _ in range(10)]
    for block in blocks[5:]:
        call("cuMemFree_v2", block)
    print("done")


main()
