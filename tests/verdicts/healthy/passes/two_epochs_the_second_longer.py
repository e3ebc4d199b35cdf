# SPDX-License-Identifier: MIT
"""Keeps losses per epoch with an early, short epoch and a long second one, and empties the list where an epoch ends."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(70, 35), nn.ReLU(), nn.Linear(35, 70)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
losses, means = [], []
for length in (15, 50):
    for _ in range(length):
        x = torch.randn(12, 70).cuda()
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        truth.end_of_step()
    means.append(torch.stack(losses).mean().item())
    losses = []
truth.declare_no_leak()
