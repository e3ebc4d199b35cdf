# SPDX-License-Identifier: MIT
"""Keeps the activations of the first ten steps for a look at them, and nothing of those that follow."""
import torch
from torch import nn

import truth

debug_activations = []
step = 0


def remember(module, inputs, output):
    if step < 10:
        debug_activations.append(output.detach())


model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8)).cuda()
model[1].register_forward_hook(remember)
optimizer = torch.optim.Adam(model.parameters())
for step in range(40):
    loss = model(torch.randn(32, 64, device='cuda')).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
