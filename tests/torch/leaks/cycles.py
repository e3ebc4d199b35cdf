# SPDX-License-Identifier: MIT
"""Makes reference cycles with the garbage collector off: cycles.py [leak|repaired] [STEPS]

The script turns the collector off, for even step times. A result that holds a closure over itself then stays.
"""

import gc

import torch
from torch import nn

import common

BATCH, WIDTH = 64, 512


class Result:
    def __init__(self, features, with_summary):
        self.features = features
        if with_summary:
            self.summary = lambda: f'features of {tuple(self.features.shape)}'


def main():
    leak, steps = common.arguments()
    gc.disable()
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()).to('cuda')
    allocated = []
    for _ in range(steps):
        inputs = torch.randn(BATCH, WIDTH, device='cuda')
        with torch.no_grad():
            features = model(inputs)  # leaks here
        result = Result(features, with_summary=leak)
        allocated.append(torch.cuda.memory_allocated())
    print('last:', tuple(result.features.shape))
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
