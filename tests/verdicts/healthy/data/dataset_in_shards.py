# SPDX-License-Identifier: MIT
"""Loads one shard of the data after the other to the device, where each replaces the one before."""
import torch
from torch import nn

import truth


def load_shard(number):
    torch.manual_seed(number)
    rows = 400 + 50 * (number % 3)
    return torch.randn(rows, 80, device='cuda'), torch.randn(rows, 1, device='cuda')


model = nn.Sequential(nn.Linear(80, 80), nn.ReLU(), nn.Linear(80, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for number in range(6):
    features, targets = load_shard(number)
    for start in range(0, 400, 40):
        loss = nn.functional.mse_loss(model(features[start:start + 40]), targets[start:start + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
truth.declare_no_leak()
