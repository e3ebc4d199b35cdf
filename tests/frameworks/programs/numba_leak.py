# SPDX-License-Identifier: MIT
"""Keeps 1 MiB of each of 40 steps, and views of arrays that have no other reference."""

import json

import numpy as np

import gpumemtrace

gpumemtrace.watch_numba()

from numba import cuda  # noqa: E402


def work():
    return cuda.device_array(1 << 18, np.float32)


kept, views = [], []
for number in range(40):
    temporary = cuda.device_array(1 << 19, np.float32)
    kept.append(work())
    if number < 5:
        views.append(cuda.device_array(1000, np.uint8)[:10])
    del temporary
    gpumemtrace.step()
print(json.dumps({"line": work.__code__.co_firstlineno + 1, "live_bytes": 40 * (1 << 20) + 5000}))
