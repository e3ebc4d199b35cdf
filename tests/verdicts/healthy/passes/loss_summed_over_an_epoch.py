# SPDX-License-Identifier: MIT
"""Adds the loss of each batch to a sum with its graph, which one backward pass at the end of each epoch differentiates and frees."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(40, 80), nn.Tanh(), nn.Linear(80, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    total = 0
    for _ in range(20):
        x = torch.randn(16, 40, device='cuda')
        total = total + nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        truth.end_of_step()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    del total
truth.declare_no_leak()
