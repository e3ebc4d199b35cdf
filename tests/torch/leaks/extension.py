# SPDX-License-Identifier: MIT
"""Calls a native extension that never frees: extension.py [leak|repaired] [STEPS]

Compiles extension.c into the folder TORCH_EXTENSIONS_DIR, or else into a temporary folder. PyTorch does
not know this memory: its count of allocated bytes does not change.
"""

import ctypes
import os
import pathlib
import subprocess
import tempfile

import torch
from torch import nn

import common

SOURCE = pathlib.Path(__file__).with_name('extension.c')
BATCH, WIDTH = 256, 1024


def load(folder):
    library = pathlib.Path(folder) / f'extension-{os.getpid()}.so'
    subprocess.run(['cc', '-g', '-O1', '-fPIC', '-shared', '-o', library, SOURCE], check=True)
    # This library depends on all CUDA libraries that PyTorch uses.
    ctypes.CDLL(pathlib.Path(torch.__file__).parent / 'lib' / 'libtorch_global_deps.so', mode=ctypes.RTLD_GLOBAL)
    extension = ctypes.CDLL(library)
    extension.fused_scale.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
    extension.fused_scale.restype = ctypes.c_void_p
    extension.scratch_free.argtypes = [ctypes.c_void_p]
    return extension


def train(extension, leak, steps):
    model = nn.Linear(WIDTH, WIDTH).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    allocated = []
    for _ in range(steps):
        output = model(torch.randn(BATCH, WIDTH, device='cuda'))
        scratch = extension.fused_scale(output.data_ptr(), output.nbytes)  # leaks here
        assert scratch
        optimizer.zero_grad()
        output.mean().backward()
        optimizer.step()
        if not leak:
            extension.scratch_free(scratch)
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'), expected_function='scratch_new',
                  expected_source_line=common.marked_line('leaks here', SOURCE),
                  extension_bytes_per_step=2 * output.nbytes)


def main():
    leak, steps = common.arguments()
    with tempfile.TemporaryDirectory() as folder:
        train(load(os.environ.get('TORCH_EXTENSIONS_DIR', folder)), leak, steps)


if __name__ == '__main__':
    main()
