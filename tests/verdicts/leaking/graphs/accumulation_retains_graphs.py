# SPDX-License-Identifier: MIT
"""Sums the losses of four micro-batches, passes the sum backward with retain_graph, and does not clear the list."""
import torch
from torch import nn

import truth

ACCUMULATE = 4
data = torch.randn(30 * ACCUMULATE, 16, 32, device='cuda')
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for number, micro_batch in enumerate(data, 1):
    losses.append(model(micro_batch).square().mean() / ACCUMULATE)  # leaks
    if number % ACCUMULATE == 0:
        sum(losses[-ACCUMULATE:]).backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks'))
