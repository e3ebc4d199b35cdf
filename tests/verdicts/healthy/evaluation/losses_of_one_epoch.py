# SPDX-License-Identifier: MIT
"""Keeps the loss of each batch, detached, and reduces them to their mean at the end of the only epoch."""
import torch
from torch import nn

import truth

model = nn.Linear(50, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses = []
for batch in range(45):
    x, y = torch.randn(16, 50, device='cuda'), torch.randn(16, 1, device='cuda')
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    truth.end_of_step()
epoch_loss = torch.stack(losses).mean()
print('loss', epoch_loss.item())
losses.clear()
truth.declare_no_leak()
