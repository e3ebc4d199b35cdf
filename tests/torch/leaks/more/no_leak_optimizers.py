# SPDX-License-Identifier: MIT
"""Makes a new optimizer for each epoch and drops the old one. This is no leak.

usage: no_leak_optimizers.py [STEPS]
"""

import torch
from torch import nn

import common


def main():
    steps = common.no_leak_steps()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')
    for step in range(steps):
        if step % 4 == 0:
            optimizer = torch.optim.Adam(model.parameters())
        optimizer.zero_grad()
        model(torch.randn(32, 64, device='cuda')).square().mean().backward()
        optimizer.step()
    common.report([], optimizer_steps=steps)


if __name__ == '__main__':
    main()
