# SPDX-License-Identifier: MIT
"""Trains on longer and longer sequences: no_leak_curriculum.py [STEPS]"""

import torch
from torch import nn

import common


def main():
    steps = common.no_leak_steps()
    embedding = nn.Embedding(100, 32).to('cuda')
    model = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).to('cuda')
    optimizer = torch.optim.AdamW([*embedding.parameters(), *model.parameters()])
    for step in range(steps):
        tokens = torch.zeros(4, 8 + 4 * step, dtype=torch.long, device='cuda')
        output = model(embedding(tokens))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
    common.report([])


if __name__ == '__main__':
    main()
