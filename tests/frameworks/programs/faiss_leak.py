# SPDX-License-Identifier: MIT
"""Searches a FAISS index in 40 steps and makes another index in each. With "leak", keeps it: 1 MiB and the norms of its rows."""

import json
import os
import sys

os.environ["_FAISS_WHEEL_DISABLE_CUDA_PRELOAD"] = "1"  # otherwise the wheel requires NVIDIA's packages
import faiss
import numpy as np

import gpumemtrace

DIMENSIONS, ROWS = 256, 1024
resources = faiss.StandardGpuResources()
rows = np.ones((ROWS, DIMENSIONS), np.float32)
index = faiss.GpuIndexFlatL2(resources, DIMENSIONS)
index.add(rows)
kept = []


def work():
    other = faiss.GpuIndexFlatL2(resources, DIMENSIONS)
    other.add(rows)
    return other


for number in range(40):
    index.search(rows[:8], 4)
    other = work()
    if "leak" in sys.argv:
        kept.append(other)
    del other
    gpumemtrace.step()
print(json.dumps({"line": work.__code__.co_firstlineno + 2, "index_bytes": rows.nbytes + 4 * ROWS}), flush=True)
