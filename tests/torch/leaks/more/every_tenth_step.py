# SPDX-License-Identifier: MIT
"""Keeps an output every tenth step: every_tenth_step.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments(100)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    for step in range(steps):
        output = model(torch.randn(32, 64, device='cuda'))  # leaks here
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        if step % 10 == 0:
            kept.append(output if leak else output.cpu())
    common.report([], expected_line=common.marked_line('# leaks here'), bytes_per_step=output.nbytes / 10)


if __name__ == '__main__':
    main()
