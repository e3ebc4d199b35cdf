# SPDX-License-Identifier: MIT
"""Compares with a queue of 2048 keys that is allocated before the training and overwritten in place."""
import copy

import torch
from torch import nn

import truth


class MomentumContrast(nn.Module):
    def __init__(self, encoder, width=64, size=2048):
        super().__init__()
        self.query, self.key = encoder, copy.deepcopy(encoder).requires_grad_(False)
        self.register_buffer('queue', nn.functional.normalize(torch.randn(width, size), dim=0))
        self.place = 0

    def forward(self, first, second):
        q = nn.functional.normalize(self.query(first), dim=1)
        with torch.no_grad():
            for key, query in zip(self.key.parameters(), self.query.parameters()):
                key.mul_(0.999).add_(query, alpha=0.001)
            k = nn.functional.normalize(self.key(second), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone()], dim=1) / 0.07
        self.queue[:, self.place:self.place + len(k)] = k.T
        self.place = (self.place + len(k)) % self.queue.shape[1]
        return nn.functional.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))


model = MomentumContrast(nn.Sequential(nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, 64))).cuda()
optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03, momentum=0.9)
for _ in range(40):
    loss = model(torch.randn(64, 96, device='cuda'), torch.randn(64, 96, device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
