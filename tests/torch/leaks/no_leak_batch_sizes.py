# SPDX-License-Identifier: MIT
"""Trains on batches of many sizes, each kept until the next: no_leak_batch_sizes.py [STEPS]"""

import random

import torch
from torch import nn

import common

SIZES, WIDTH = (1, 3, 8, 17, 32, 64, 100, 256), 256


def main():
    steps = common.no_leak_steps()
    sizes = random.Random(7)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10)).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    allocated = []
    for _ in range(steps):
        size = sizes.choice(SIZES)
        inputs = torch.randn(size, WIDTH, device='cuda')
        labels = torch.zeros(size, dtype=torch.long, device='cuda')
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated)


if __name__ == '__main__':
    main()
