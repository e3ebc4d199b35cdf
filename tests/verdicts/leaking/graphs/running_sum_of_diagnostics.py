# SPDX-License-Identifier: MIT
"""Adds a diagnostic of each batch to a running sum, which keeps the graphs of all of them."""
import torch
from torch import nn

import truth

data = torch.randn(60 * 32, 24, device='cuda')
model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 6)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
running = torch.zeros((), device='cuda')
for step in range(40):
    batch = data[32 * step:32 * (step + 1)]
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = running + model[0].weight.tanh().mean()  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks'))
