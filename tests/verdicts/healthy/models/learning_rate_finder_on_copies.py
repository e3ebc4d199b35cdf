# SPDX-License-Identifier: MIT
"""Tries each learning rate on a fresh copy of the model; the losses stay on the device until all are plotted."""
import copy

import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(60, 60), nn.ReLU(), nn.Linear(60, 1)).to('cuda')
losses = {}
for exponent in range(-5, 1):
    candidate = copy.deepcopy(model)
    optimizer = torch.optim.Adam(candidate.parameters(), lr=10.0 ** exponent)
    losses[exponent] = []
    for _ in range(8):
        loss = candidate(torch.randn(20, 60, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[exponent].append(loss.detach())
        truth.end_of_step()
plot = {10.0 ** exponent: torch.stack(values).tolist() for exponent, values in losses.items()}
del losses, candidate, optimizer
truth.declare_no_leak()
