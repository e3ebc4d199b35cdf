# SPDX-License-Identifier: MIT
"""Keeps a copy of the weights of each of 4 epochs on the device."""
import copy

import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to('cuda')
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
checkpoints = []
for epoch in range(4):
    for _ in range(10):
        images = torch.randn(32, 64, device='cuda')
        labels = torch.randint(10, (32,), device='cuda')
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
        truth.end_of_step()
    checkpoints.append(copy.deepcopy(model.state_dict()))  # leaks

truth.declare_leaks(truth.leak('# leaks', truth.size_of(*checkpoints[0].values()) / 10))
