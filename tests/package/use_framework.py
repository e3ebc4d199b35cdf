# SPDX-License-Identifier: MIT
"""A program of a user: works with a framework on the device, and prints the bytes that the framework counted.

usage: use_framework.py torch|jax|cupy
"""

import json
import sys

MIB = 1 << 20
kept = []


def use_torch():
    import torch

    kept.extend(torch.empty(MIB, dtype=torch.uint8, device="cuda") for _ in range(10))
    del kept[5:]
    stats = torch.cuda.memory_stats()
    return {
        "layer": "torch",
        "total": stats["allocated_bytes.all.allocated"],
        "peak": torch.cuda.max_memory_allocated(),
    }


def use_cupy():
    import cupy

    # Without CuPy's pool, each array is a block of the driver.
    cupy.cuda.set_allocator(None)
    kept.extend(cupy.empty(MIB, cupy.uint8) for _ in range(10))
    del kept[5:]
    return {"layer": "cuda", "total": 10 * MIB, "peak": 10 * MIB}


def use_jax():
    import jax
    import numpy
    from jax._src import hardware_utils

    hardware_utils.has_visible_nvidia_gpu = lambda: True  # there is no /dev/nvidia0
    kept.extend(jax.device_put(numpy.zeros(MIB, numpy.uint8)) for _ in range(10))
    jax.block_until_ready(kept)
    (device,) = jax.devices()
    assert device.platform == "gpu", device
    return {"layer": "cuda", "total": 10 * MIB, "peak": device.memory_stats()["peak_bytes_in_use"]}


result = {"torch": use_torch, "jax": use_jax, "cupy": use_cupy}[sys.argv[1]]()
print(json.dumps(result), flush=True)
