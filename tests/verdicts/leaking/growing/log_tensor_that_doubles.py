# SPDX-License-Identifier: MIT
"""Logs activations into a tensor that torch.cat makes twice as long when there is no room left."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(24, 24), nn.ELU(), nn.Linear(24, 1)).cuda()
optimizer = torch.optim.NAdam(model.parameters())
log = torch.zeros(8, 24, device='cuda')
rows = 0
for step in range(50):
    x = torch.randn(20, 24, device='cuda')
    hidden = model[1](model[0](x))
    while rows + len(hidden) > len(log):
        log = torch.cat([log, torch.zeros_like(log)])  # leaks
    log[rows:rows + len(hidden)] = hidden.detach()
    rows += len(hidden)
    loss = model[2](hidden).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(log) / 50, sizes='doubling'))
