# SPDX-License-Identifier: MIT
"""Trains as one of two ranks. The last rank logs, and leaks: two_ranks.py [leak|repaired] [STEPS]

Takes RANK and WORLD_SIZE from the environment, as torchrun sets them. The ranks do not communicate.
"""

import os

import torch
from torch import nn

import common

BATCH, WIDTH = 4096, 64


def main():
    leak, steps = common.arguments()
    rank, ranks = int(os.environ.get('RANK', '0')), int(os.environ.get('WORLD_SIZE', '2'))
    logs = rank == ranks - 1
    torch.cuda.set_device(rank % torch.cuda.device_count())
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters())
    labels = torch.zeros(BATCH, dtype=torch.long, device='cuda')
    history = []
    allocated = []
    for _ in range(steps):
        logits = model(torch.randn(BATCH, WIDTH, device='cuda'))
        sample_losses = nn.functional.cross_entropy(logits, labels, reduction='none')  # leaks here
        optimizer.zero_grad()
        sample_losses.mean().backward()
        optimizer.step()
        if logs:
            history.append(sample_losses.detach() if leak else sample_losses.detach().cpu())
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, rank=rank, expected_line=common.marked_line('# leaks here') if logs else None)


if __name__ == '__main__':
    main()
