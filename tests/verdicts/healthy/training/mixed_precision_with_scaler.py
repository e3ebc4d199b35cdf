# SPDX-License-Identifier: MIT
"""Trains in half precision with a gradient scaler; casts of the weights live for one forward pass."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler('cuda')
for _ in range(50):
    inputs, labels = torch.randn(64, 256).cuda(), torch.randint(10, (64,)).cuda()
    optimizer.zero_grad()
    with torch.autocast('cuda', dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(inputs), labels)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    truth.end_of_step()
truth.declare_no_leak()
