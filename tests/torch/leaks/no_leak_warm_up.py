# SPDX-License-Identifier: MIT
"""Fills a cache in its first steps, and then only reads it: no_leak_warm_up.py [STEPS]"""

import torch
from torch import nn

import common

BATCH, WIDTH, LENGTHS = 8, 64, (64, 128, 192, 256, 320, 384, 448, 512)


class Attention(nn.Module):
    """One attention head, with a cached mask for each sequence length so far."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.masks = {}

    def forward(self, x):
        length = x.shape[1]
        if length not in self.masks:
            self.masks[length] = torch.full((length, length), float('-inf'), device=x.device).triu(1)
        query, key, value = self.project(x).chunk(3, dim=-1)
        return (query @ key.transpose(1, 2) + self.masks[length]).softmax(dim=-1) @ value


def main():
    steps = common.no_leak_steps()
    model = Attention().to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    allocated = []
    for step in range(steps):
        loss = model(torch.randn(BATCH, LENGTHS[step % len(LENGTHS)], WIDTH, device='cuda')).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated)


if __name__ == '__main__':
    main()
