# SPDX-License-Identifier: MIT
"""A contrastive learner joins each batch's keys to its bank of negatives and forgets to cut the oldest."""
import torch
from torch import nn
import torch.nn.functional as F

import truth


class Contrast(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.query, self.key = nn.Linear(30, width), nn.Linear(30, width)
        self.register_buffer('bank', torch.randn(32, width))

    def forward(self, x):
        query = F.normalize(self.query(x), dim=1)
        with torch.no_grad():
            key = F.normalize(self.key(x), dim=1)
        logits = query @ torch.cat([key, self.bank]).T / 0.07
        self.bank = torch.cat([self.bank, key])  # leaks
        return logits


def main():
    model = Contrast().cuda()
    optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03)
    for _ in range(50):
        logits = model(torch.randn(8, 30, device='cuda'))
        loss = F.cross_entropy(logits, torch.arange(8, device='cuda'))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', 8 * 64 * 4))


main()
