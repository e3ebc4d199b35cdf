# SPDX-License-Identifier: MIT
"""An array that grows by half of its length when it is full takes the scores of all samples."""
import torch
from torch import nn

import truth


class GrowingArray:
    def __init__(self):
        self.storage, self.length = torch.empty(64, device='cuda'), 0

    def extend(self, values):
        needed = self.length + values.numel()
        if needed > self.storage.numel():
            old = self.storage
            self.storage = old.new_empty(max(needed, old.numel() * 3 // 2))  # leaks
            self.storage[:self.length].copy_(old[:self.length])
        self.storage[self.length:needed] = values
        self.length = needed


scores = GrowingArray()
scorer = nn.Bilinear(10, 10, 1).to('cuda')
optimizer = torch.optim.Adam(scorer.parameters())
for _ in range(60):
    left, right = torch.randn(2, 128, 10, device='cuda')
    score = scorer(left, right).flatten()
    optimizer.zero_grad()
    nn.functional.softplus(-score).mean().backward()
    optimizer.step()
    scores.extend(score.detach())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(scores.storage) / 60, sizes='doubling'))
