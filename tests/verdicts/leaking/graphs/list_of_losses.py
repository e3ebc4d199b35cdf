# SPDX-License-Identifier: MIT
"""Keeps the loss of each step with its graph."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to('cuda')
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(40):
    inputs = torch.randn(32, 64, device='cuda')
    loss = model(inputs).square().mean()  # leaks
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks'))
