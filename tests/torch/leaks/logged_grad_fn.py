# SPDX-License-Identifier: MIT
"""Sums a metric up as a tensor with its graph: logged_grad_fn.py [leak|repaired] [STEPS]

The training uses the smoothed loss, and only logs the plain loss. No backward pass frees the graph of
the plain loss, and the running total refers to the graphs of all steps.
"""

import torch
from torch import nn

import common

BATCH, WIDTH, CLASSES = 64, 128, 1000


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    labels = torch.zeros(BATCH, dtype=torch.long, device='cuda')
    totals = {'plain loss': 0.0}
    allocated = []
    for _ in range(steps):
        logits = model(torch.randn(BATCH, WIDTH, device='cuda'))
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=0.1)
        plain_loss = nn.functional.cross_entropy(logits, labels)  # leaks here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals['plain loss'] = totals['plain loss'] + (plain_loss if leak else plain_loss.detach())
        allocated.append(torch.cuda.memory_allocated())
    print(*(f'{name}: {total / steps:g}' for name, total in totals.items()), sep='\n')
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
