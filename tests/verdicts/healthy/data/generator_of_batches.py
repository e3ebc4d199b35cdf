# SPDX-License-Identifier: MIT
"""Takes batches from an endless generator that makes them on the device and keeps only the one that it yields."""
import torch
from torch import nn

import truth


def batches(size):
    generator = torch.Generator(device='cuda').manual_seed(0)
    while True:
        points = torch.rand(size, 2, device='cuda', generator=generator)
        inside = (points.square().sum(1) < 1).float()
        yield points, inside


model = nn.Sequential(nn.Linear(2, 30), nn.Tanh(), nn.Linear(30, 1)).cuda()
optimizer = torch.optim.Rprop(model.parameters())
for step, (points, inside) in enumerate(batches(500)):
    loss = nn.functional.binary_cross_entropy_with_logits(model(points)[:, 0], inside)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
    if step == 49:
        break
truth.declare_no_leak()
