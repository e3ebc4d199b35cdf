# SPDX-License-Identifier: MIT
"""Uses RMM's own Python resources around a resource of this program. RMM's own NVIDIA runtime refuses the simulated device."""

import ctypes
import json

import rmm

import gpumemtrace

cuda, context, slab = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
assert (
    not cuda.cuInit(0)
    and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    and not cuda.cuCtxSetCurrent(context)
)
assert not cuda.cuMemAlloc_v2(ctypes.byref(slab), ctypes.c_size_t(160 << 20))
rmm.mr.set_current_device_resource = lambda resource: None  # the original asks the runtime for the device
next_address = slab.value


def allocate(size_bytes, stream):
    global next_address
    address, next_address = next_address, next_address + size_bytes
    return address


resource = gpumemtrace.watch_rmm(rmm.mr.CallbackMemoryResource(allocate, lambda address, size_bytes, stream: None))


def work():
    return resource.allocate(1 << 20)


kept = []
for number in range(40):
    temporary = resource.allocate(1 << 21)
    kept.append(work())
    resource.deallocate(temporary, 1 << 21)
    gpumemtrace.step()
print(json.dumps({"line": work.__code__.co_firstlineno + 1}))
