# SPDX-License-Identifier: MIT
"""Keeps flat copies of the last 35 gradients to estimate their noise; the window is full in the second half of the run."""
from collections import deque

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector

import truth

model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
recent = deque(maxlen=35)
for step in range(60):
    loss = model(torch.randn(12, 20, device='cuda')).square().mean()
    optimizer.zero_grad()
    loss.backward()
    recent.append(parameters_to_vector(parameter.grad for parameter in model.parameters()))
    optimizer.step()
    if step % 15 == 14:
        noise = torch.stack(tuple(recent)).var(0).mean().item()
    truth.end_of_step()
truth.declare_no_leak()
