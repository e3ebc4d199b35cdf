# SPDX-License-Identifier: MIT
"""owners_host.py [LIBRARY SYMBOL BYTES]... BYTES: lets each stand-in of a library allocate, then allocates itself."""

import ctypes
import sys

calls, own_bytes = sys.argv[1:-1], int(sys.argv[-1])
for library, symbol, size in zip(calls[::3], calls[1::3], calls[2::3]):
    assert getattr(ctypes.CDLL(library), symbol)(ctypes.c_size_t(int(size))) == 0, library
driver = ctypes.CDLL("libcuda.so.1")
block, context = ctypes.c_uint64(), ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(own_bytes)) == 0
