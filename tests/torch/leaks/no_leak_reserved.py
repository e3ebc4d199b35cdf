# SPDX-License-Identifier: MIT
"""Needs a bigger block each step and frees it: no_leak_reserved.py [STEPS]

No cached block is big enough for the next one. PyTorch reserves more and more, but allocates no more.
"""

import torch
from torch import nn

import common

BATCH, WIDTH = 64, 1024


def main():
    steps = common.no_leak_steps()
    model = nn.Linear(WIDTH, WIDTH).to('cuda')
    allocated, reserved = [], []
    for step in range(steps):
        with torch.no_grad():
            output = model(torch.randn(BATCH * (16 + 8 * step), WIDTH, device='cuda'))
        del output
        allocated.append(torch.cuda.memory_allocated())
        reserved.append(torch.cuda.memory_reserved())
    common.report(allocated, reserved=reserved)


if __name__ == '__main__':
    main()
