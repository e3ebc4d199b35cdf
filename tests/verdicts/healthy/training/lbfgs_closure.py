# SPDX-License-Identifier: MIT
"""Fits a small problem by L-BFGS, whose history of directions has a fixed length."""
import torch
from torch import nn

import truth

x = torch.linspace(-1, 1, 200, device='cuda')[:, None]
y = torch.sin(4 * x)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to('cuda')
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=10, line_search_fn='strong_wolfe')


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(40):
    optimizer.step(closure)
    truth.end_of_step()
truth.declare_no_leak()
