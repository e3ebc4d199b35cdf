# SPDX-License-Identifier: MIT
"""Keeps the last 30 batches in a deque, to train on each again; the deque is full halfway through the run."""
from collections import deque

import torch
from torch import nn

import truth

recent = deque(maxlen=30)
model = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    batch = torch.randn(40, 100).cuda()
    recent.append(batch)
    replayed = recent[step * 7 % len(recent)]
    loss = model(batch).square().mean() + 0.1 * model(replayed).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
