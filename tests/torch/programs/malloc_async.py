# SPDX-License-Identifier: MIT
"""Trains with the driver's own stream-ordered allocator: malloc_async.py [REPORT]"""

import os

# PyTorch reads the variable when its allocator starts, so the script sets it before the first allocation.
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'backend:cudaMallocAsync'

import torch

import common
import convnet

STEPS = 10


def main():
    assert torch.cuda.get_allocator_backend() == 'cudaMallocAsync'
    convnet.train(steps=STEPS)
    common.report(common.report_path())


if __name__ == '__main__':
    main()
