# SPDX-License-Identifier: MIT
"""Trains a large embedding with sparse gradients and SparseAdam, whose dense state is made in the first step."""
import torch
from torch import nn

import truth

table = nn.Embedding(5000, 32, sparse=True).cuda()
tower = nn.Linear(32, 1).cuda()
sparse, dense = torch.optim.SparseAdam(table.parameters()), torch.optim.Adam(tower.parameters())
for _ in range(40):
    items = torch.randint(5000, (64, 10)).cuda()
    loss = tower(table(items).mean(1)).square().mean()
    for optimizer in (sparse, dense):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (sparse, dense):
        optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
