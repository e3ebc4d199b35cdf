# SPDX-License-Identifier: MIT
"""Collects the losses of each of four short epochs with their graphs, and plots the mean of each epoch."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(25, 50), nn.ReLU(), nn.Linear(50, 25)).cuda()
optimizer = torch.optim.Adam(model.parameters())
curve = []
for epoch in range(4):
    epoch_losses = []
    for batch in range(18):
        x = torch.rand(64, 25, device='cuda')
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        epoch_losses.append(loss)
        truth.end_of_step()
    curve.append(torch.stack(epoch_losses).mean().item())
    del epoch_losses
truth.declare_no_leak()
