# SPDX-License-Identifier: MIT
"""Accumulates the gradients of four batches in .grad before each optimizer step, and frees them after it."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Embedding(500, 64), nn.Flatten(), nn.Linear(64 * 12, 20)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(80):
    tokens = torch.randint(500, (16, 12)).cuda()
    loss = nn.functional.cross_entropy(model(tokens), torch.randint(20, (16,)).cuda()) / 4
    loss.backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    truth.end_of_step()
truth.declare_no_leak()
