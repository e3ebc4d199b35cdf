# SPDX-License-Identifier: MIT
"""Keeps each step's loss as a tensor, for a plot at the end: loss_list.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    allocated = []
    for _ in range(steps):
        inputs = torch.randn(32, 64, device='cuda')
        labels = torch.zeros(32, dtype=torch.long, device='cuda')
        loss = nn.functional.cross_entropy(model(inputs), labels)  # leaks here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss if leak else loss.item())
        allocated.append(torch.cuda.memory_allocated())
    print(f'mean loss: {sum(losses) / len(losses):g}')
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
