# SPDX-License-Identifier: MIT
"""Keeps a window of 42 of its 60 steps: no_leak_window.py [STEPS]"""

import collections

import torch
from torch import nn

import common


def main():
    steps = common.no_leak_steps(60)
    model = nn.Linear(64, 64).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    window = collections.deque(maxlen=steps * 7 // 10)
    for _ in range(steps):
        output = model(torch.randn(32, 64, device='cuda'))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        window.append(output.detach())
    common.report([])


if __name__ == '__main__':
    main()
