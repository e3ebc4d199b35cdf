# SPDX-License-Identifier: MIT
"""Builds, trains and drops a model for each choice of width and depth; only scores are kept."""
import itertools

import torch
from torch import nn

import truth


def build(width, depth):
    sizes = [24] + [width] * depth
    hidden = [layer for a, b in itertools.pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(width, 1))


def score(width, depth, steps=7):
    model = build(width, depth).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        loss = model(torch.randn(32, 24, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    return loss.item()


results = {choice: score(*choice) for choice in itertools.product((32, 64, 128), (1, 2, 3))}
print(min(results, key=results.get))
truth.declare_no_leak()
