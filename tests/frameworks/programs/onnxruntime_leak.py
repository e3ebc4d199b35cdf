# SPDX-License-Identifier: MIT
"""Runs a model for 40 steps on ONNX Runtime's CUDA provider. With "leak", keeps the output of each step, 1 MiB. With "direct",
callbacks of this program allocate each block of ONNX Runtime with cudaMalloc."""

import ctypes
import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import gpumemtrace

SIZE = 512
settings = {}


def allocate(size_bytes):
    address = ctypes.c_void_p()
    return None if runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size_bytes)) else address.value


def free(address):
    runtime.cudaFree(ctypes.c_void_p(address))


if "direct" in sys.argv:
    runtime = ctypes.CDLL("libcudart.so.13")

    allocates, frees = (
        ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(allocate),
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free),
    )
    settings = {
        "gpu_external_alloc": str(ctypes.cast(allocates, ctypes.c_void_p).value),
        "gpu_external_free": str(ctypes.cast(frees, ctypes.c_void_p).value),
    }

graph = helper.make_graph(
    [helper.make_node("MatMul", ["input", "weights"], ["output"])],
    "layer",
    [helper.make_tensor_value_info("input", TensorProto.FLOAT, [SIZE, 1])],
    [helper.make_tensor_value_info("output", TensorProto.FLOAT, [SIZE, SIZE])],
    [onnx.numpy_helper.from_array(np.ones((1, SIZE), np.float32), "weights")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[("CUDAExecutionProvider", settings)])
assert session.get_providers()[0] == "CUDAExecutionProvider"
weights = onnxruntime.OrtValue.ortvalue_from_numpy(np.ones((SIZE, 1), np.float32), "cuda", 0)
kept = []


def work():
    binding = session.io_binding()
    binding.bind_ortvalue_input("input", weights)
    binding.bind_output("output", "cuda")
    session.run_with_iobinding(binding)
    return binding.get_outputs()


for number in range(40):
    outputs = work()
    if "leak" in sys.argv:
        kept.append(outputs)
    del outputs
    gpumemtrace.step()
print(
    json.dumps(
        {
            "line": work.__code__.co_firstlineno + 4,
            "callback": allocate.__code__.co_firstlineno + 2,
            "in_use_bytes": max(len(kept), 1) << 20,
        }
    ),
    flush=True,
)
kept.clear()
# The callbacks must outlive the session and the weights.
session = weights = None
