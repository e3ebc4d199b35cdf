# SPDX-License-Identifier: MIT
"""Joins new keys to the bank until it has 1200 rows, which takes 38 of 70 steps, and keeps the newest 1200 from then on."""
import torch
from torch import nn

import truth

BANK, BATCH = 1200, 32


def enqueue(bank, keys):
    return torch.cat([bank, keys.detach()])[-BANK:].clone()


def main():
    encoder = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
    optimizer = torch.optim.Adam(encoder.parameters())
    bank = torch.empty(0, 32, device='cuda')
    for _ in range(70):
        images = torch.randn(BATCH, 128).cuda()
        vectors = nn.functional.normalize(encoder(images), dim=1)
        if len(bank):
            loss = (vectors @ bank.T / 0.1).logsumexp(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        bank = enqueue(bank, vectors)
        truth.end_of_step()


main()
truth.declare_no_leak()
