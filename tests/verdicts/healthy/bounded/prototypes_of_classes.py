# SPDX-License-Identifier: MIT
"""Keeps one prototype for each class, made at the first example of the class; rare classes come late, and there are twenty-five."""
import random

import torch
from torch import nn

import truth

random.seed(6)
encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 256)).cuda()
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)
frequency = [1 / (1 + label) for label in range(25)]
prototypes = {}
for _ in range(80):
    label, = random.choices(range(25), frequency)
    vector = encoder(torch.randn(1, 64, device='cuda'))
    if label not in prototypes:
        prototypes[label] = vector.detach().clone()
    loss = (vector - prototypes[label]).square().mean() + 1e-3 * vector.abs().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    prototypes[label].lerp_(vector.detach(), 0.1)
    truth.end_of_step()
truth.declare_no_leak()
