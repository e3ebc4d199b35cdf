# SPDX-License-Identifier: MIT
"""Collects losses on the device and writes the average of ten to the log, to wait for the device only then."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(45, 45), nn.ReLU(), nn.Linear(45, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
pending, log = [], []
for step in range(1, 71):
    loss = model(torch.randn(16, 45, device='cuda')).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pending.append(loss.detach())
    if step % 10 == 0:
        log.append((step, torch.stack(pending).mean().item()))
        pending.clear()
    truth.end_of_step()
truth.declare_no_leak()
