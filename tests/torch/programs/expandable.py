# SPDX-License-Identifier: MIT
"""Trains with PyTorch's expandable segments, which are made of mapped memory: expandable.py [REPORT]"""

import os

# PyTorch reads the variable when its allocator starts, so the script sets it before the first allocation.
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'

import torch

import common
import convnet

STEPS = 10


def main():
    convnet.train(steps=STEPS)
    growing = [torch.empty(30_000_000, dtype=torch.uint8, device='cuda') for _ in range(10)]
    del growing[::2]
    torch.cuda.empty_cache()
    common.report(common.report_path())


if __name__ == '__main__':
    main()
