# SPDX-License-Identifier: MIT
"""Hands its optimizer a closure and keeps outputs: optimizer_closure.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    allocated = []

    def closure():
        output = model(torch.randn(32, 64, device='cuda'))  # leaks here
        loss = output.square().mean()
        optimizer.zero_grad()
        loss.backward()
        if leak:
            kept.append(output)
        return loss

    for _ in range(steps):
        optimizer.step(closure)
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
