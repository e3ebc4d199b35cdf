# SPDX-License-Identifier: MIT
"""Stores all features in one tensor that doubles when it is full."""
import torch
from torch import nn

import truth


class FeatureStore:
    def __init__(self, width):
        self.rows = torch.empty(32, width, device='cuda')
        self.length = 0

    def add(self, new):
        while self.length + len(new) > len(self.rows):
            larger = torch.empty(2 * len(self.rows), self.rows.shape[1], device='cuda')  # leaks
            larger[:self.length] = self.rows[:self.length]
            self.rows = larger
        self.rows[self.length:self.length + len(new)] = new
        self.length += len(new)


backbone = nn.Sequential(nn.Linear(40, 64), nn.ReLU()).cuda()
head = nn.Linear(64, 5).cuda()
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.05)
store = FeatureStore(64)
for step in range(160):
    features = backbone(torch.randn(16, 40, device='cuda'))
    loss = nn.functional.cross_entropy(head(features), torch.randint(5, (16,), device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    store.add(features.detach())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', sizes='doubling'))
