# SPDX-License-Identifier: MIT
"""Trains on images of growing size at module level, where names keep the last batch and its outputs alive."""
import torch
from torch import nn

import truth

net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for size in (16, 20, 24, 28, 32, 36, 40, 44):
    for _ in range(7):
        images = torch.rand(8, 3, size, size, device='cuda')
        normalised = (images - images.mean()) / 0.25
        logits = net(normalised)
        loss = nn.functional.cross_entropy(logits, torch.randint(10, (8,), device='cuda'))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
truth.declare_no_leak()
