# SPDX-License-Identifier: MIT
"""Differentiates through three inner updates of each task; the graphs of a meta batch are freed by its backward pass."""
import torch
from torch import nn
from torch.func import functional_call

import truth


def adapt(model, weights, x, y, rate=0.1):
    for _ in range(3):
        loss = nn.functional.mse_loss(functional_call(model, weights, x), y)
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {name: value - rate * slope for (name, value), slope in zip(weights.items(), slopes)}
    return weights


model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 1)).cuda()
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(30):
    outer = 0
    for task in range(4):
        x, phase = torch.rand(20, 1, device='cuda'), torch.rand(1, device='cuda')
        y = torch.sin(6 * x + phase)
        adapted = adapt(model, dict(model.named_parameters()), x[:10], y[:10])
        outer = outer + nn.functional.mse_loss(functional_call(model, adapted, x[10:]), y[10:])
    meta_optimizer.zero_grad()
    outer.backward()
    meta_optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
