# SPDX-License-Identifier: MIT
"""Curves of the loss are smoothed over 10 and over 25 steps, and the raw points stay in a third list."""
from collections import deque

import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(14, 28), nn.ReLU(), nn.Linear(28, 2)).to('cuda')
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
fast, slow, raw = deque(maxlen=10), deque(maxlen=25), []
for step in range(60):
    x = torch.randn(50, 14, device='cuda')
    y = torch.randint(2, (50,), device='cuda')
    per_sample = nn.functional.cross_entropy(model(x), y, reduction='none')
    optimizer.zero_grad()
    per_sample.mean().backward()
    optimizer.step()
    point = per_sample.detach()
    fast.append(point.median()), slow.append(point.median()), raw.append(point.median())  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(raw[0])))
