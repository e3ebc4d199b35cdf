# SPDX-License-Identifier: MIT
"""Trains for some steps in one of the ways whose memory users compare: diff_training.py BATCH [checkpoint|half]"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import common

LAYERS, WIDTH, STEPS = 6, 256, 3
DEVICE = 'cuda'


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(x)))


class Model(nn.Module):
    def __init__(self, saves_memory):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.saves_memory = saves_memory

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.saves_memory else block(x)
        return x


def make_model(mode):
    return Model(mode == 'checkpoint').to(DEVICE)


def step(model, optimizer, batch, mode):
    x = torch.zeros(batch, WIDTH, device=DEVICE)
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=mode == 'half'):
        loss = model(x).float().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    batch, mode = int(sys.argv[1]), (sys.argv + [''])[2]
    model = make_model(mode)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        step(model, optimizer, batch, mode)
    common.report(total_bytes=torch.cuda.memory_stats()['allocated_bytes.all.allocated'])


main()
