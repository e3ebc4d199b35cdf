# SPDX-License-Identifier: MIT
"""Skips random blocks in each step; the optimizer has state for all of them once each was used."""
import random

import torch
from torch import nn

import truth


class StochasticDepth(nn.Module):
    def __init__(self, width, depth, survival):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU()) for _ in range(depth))
        self.survival = survival

    def forward(self, x):
        for block in self.blocks:
            if not self.training or random.random() < self.survival:
                x = x + block(x)
        return x


random.seed(7)
model = StochasticDepth(64, 12, survival=0.5).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(50):
    inputs = torch.randn(random.choice([16, 24, 32]), 64, device='cuda', requires_grad=True)
    loss = model(inputs).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
