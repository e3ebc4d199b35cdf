# SPDX-License-Identifier: MIT
"""Allocates by the runtime itself, as array libraries do: two temporary arrays a step, and a result that is kept."""
import ctypes

import truth

cuda = ctypes.CDLL('libcudart.so.12')
cuda.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
cuda.cudaFree.argtypes = [ctypes.c_void_p]

results = []
for step in range(60):
    scratch, weights, result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(scratch), 1 << 16)
    cuda.cudaMalloc(ctypes.byref(weights), 1 << 15)
    cuda.cudaMalloc(ctypes.byref(result), 4096)  # leaks
    results.append(result)
    cuda.cudaFree(scratch)
    cuda.cudaFree(weights)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', 4096), steps_must_match=True)
