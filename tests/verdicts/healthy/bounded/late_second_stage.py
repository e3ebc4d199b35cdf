# SPDX-License-Identifier: MIT
"""Adds a second, larger network and its optimizer in the last third of the training, once."""
import torch
from torch import nn

import truth


def update(loss, *optimizers):
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()


coarse = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 40)).cuda()
coarse_optimizer = torch.optim.Adam(coarse.parameters())
for _ in range(40):
    x = torch.randn(32, 40, device='cuda')
    update(nn.functional.mse_loss(coarse(x), x), coarse_optimizer)
    truth.end_of_step()
fine = nn.Sequential(nn.Linear(80, 200), nn.ReLU(), nn.Linear(200, 40)).cuda()
fine_optimizer = torch.optim.Adam(fine.parameters())
for _ in range(20):
    x = torch.randn(32, 40, device='cuda')
    update(nn.functional.mse_loss(fine(torch.cat([x, coarse(x)], 1)), x), coarse_optimizer, fine_optimizer)
    truth.end_of_step()
truth.declare_no_leak()
