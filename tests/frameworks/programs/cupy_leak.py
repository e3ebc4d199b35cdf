# SPDX-License-Identifier: MIT
"""Keeps 1 MiB of each of 40 steps, with the allocator that the first argument names. A second argument avoids the leak."""

import json
import sys

import cupy as cp

import gpumemtrace

if sys.argv[1] == "async":
    cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
elif sys.argv[1] == "direct":
    cp.cuda.set_allocator(None)
elif sys.argv[1] == "watched":
    hook = gpumemtrace.watch_cupy()

held = cp.empty(1000, cp.float32)
cache = [cp.empty(1 << 20, cp.float32) for _ in range(20)]
del cache  # the pool keeps 80 MiB
kept = []


def work():
    return cp.empty(1 << 18, cp.float32)


for number in range(40):
    temporary = cp.empty(1 << 19, cp.float32)
    result = work()
    if len(sys.argv) == 2:
        kept.append(result)
    del temporary, result
    gpumemtrace.step()

pool = cp.get_default_memory_pool()
print(
    json.dumps(
        {
            "line": work.__code__.co_firstlineno + 1,
            "used_bytes": pool.used_bytes(),
            "total_bytes": pool.total_bytes(),
            "sum": int((cp.asarray([1, 2]) * 2).shape[0]),
        }
    )
)
