# SPDX-License-Identifier: MIT
"""Writes each loss into a tensor that is allocated for the curve of the whole training."""
import torch
from torch import nn

import truth

STEPS = 60
curve = torch.full((STEPS,), float('nan'), device='cuda')
model = nn.Sequential(nn.Linear(15, 60), nn.ReLU(), nn.Linear(60, 15)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(STEPS):
    x = torch.randn(33, 15, device='cuda')
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve[step] = loss.detach()
    truth.end_of_step()
print(curve.cpu()[-1])
truth.declare_no_leak()
