# SPDX-License-Identifier: MIT
"""Searches for a width, from small models to large ones. Keeps the scores, and no model."""
import torch
from torch import nn

import truth


def build(width, depth):
    sizes = [32] + [width] * depth
    hidden = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(width, 1)).cuda()


def trial(width, depth, steps=9):
    model = build(width, depth)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    score = 0.0
    for _ in range(steps):
        x = torch.randn(32, 32, device='cuda')
        loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        score = loss.item()
        truth.end_of_step()
    return score


scores = {}
for depth in (1, 2):
    for width in (16, 32, 48, 64, 96, 128):
        scores[width, depth] = trial(width, depth)
best = min(scores, key=scores.get)
truth.declare_no_leak()
