# SPDX-License-Identifier: MIT
"""Drops results late: late_drops.py lists|cycles|collected

`lists` collects the results of eight steps in a list and empties the list. One result of each list stays. `cycles` makes
reference cycles, which Python's collector frees sometimes. One of eight results stays here too. `collected` is `cycles`
with a call of gc.collect() every eighth step.
"""

import gc
import sys

import torch
from torch import nn

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]


class Result:
    def __init__(self, value):
        self.value = value
        self.itself = self


def main():
    if KIND == 'collected':
        gc.disable()
    model = nn.Linear(256, 256).cuda()
    window, kept = [], []
    for step in range(64):
        with torch.no_grad():
            output = model(torch.randn(64, 256, device='cuda'))
        if KIND == 'lists':
            window.append(output)
        else:
            Result(output)
            if KIND == 'cycles':
                _garbage = [[index] for index in range(100)]
        if step % 8 == 7:
            kept.append(output)
            window.clear()
            if KIND == 'collected':
                gc.collect()
        del output


main()
