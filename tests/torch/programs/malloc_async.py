# SPDX-License-Identifier: MIT
"""Trains with the driver's own stream-ordered allocator: malloc_async.py [REPORT]"""

import os

# PyTorch reads it when its allocator starts, so it must be set before the first allocation.
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'backend:cudaMallocAsync'

import torch  # noqa: E402

import common  # noqa: E402
import convnet  # noqa: E402

STEPS = 10


def main():
    assert torch.cuda.get_allocator_backend() == 'cudaMallocAsync'
    convnet.train(steps=STEPS)
    common.report(common.report_path())


if __name__ == '__main__':
    main()
