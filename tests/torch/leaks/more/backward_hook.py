# SPDX-License-Identifier: MIT
"""Keeps gradients that a backward hook sees, by step: backward_hook.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    seen = {}
    step = 0
    model[2].register_full_backward_hook(
        lambda module, inputs, outputs: seen.__setitem__(step if leak else 'newest', inputs[0]))
    allocated = []
    for step in range(steps):
        loss = model(torch.randn(32, 64, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()  # leaks here
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
