# SPDX-License-Identifier: MIT
"""Collects outputs for a plot from step 170 of 200 on, when the schedule enters its last phase."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(8, 16), nn.Sigmoid(), nn.Linear(16, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [100, 170])
to_plot = []
for step in range(200):
    x = torch.randn(128, 8, device='cuda')
    y = model(x)  # leaks
    loss = (y - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step >= 170:
        to_plot.append(y.detach())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(to_plot[0]), first_step=170))
