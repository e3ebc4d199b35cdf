# SPDX-License-Identifier: MIT
"""Trains on texts of many lengths: lengths.py [as-they-come|longest-first]"""
import random
import sys

import torch
from torch import nn

BATCH, WIDTH, STEPS, LONGEST = 32, 256, 48, 2048


def main():
    draw = random.Random(7)
    lengths = [draw.randrange(64, LONGEST) for _ in range(STEPS)]
    if sys.argv[1:] == ['longest-first']:
        lengths.insert(0, LONGEST)
    model = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in lengths:
        texts = torch.randn(BATCH, length, WIDTH, device='cuda')
        model(texts).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        del texts


if __name__ == '__main__':
    main()
