# SPDX-License-Identifier: MIT
"""Collects the images of the last quarter of training as hard examples."""
import torch
import torch.nn.functional as F
from torch import nn, optim

import truth

MINING_FROM = 150

net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10),
).cuda()
opt = optim.AdamW(net.parameters(), lr=3e-4)
hard_examples = []

for step in range(200):
    x = torch.randn(16, 3, 16, 16, device='cuda')  # leaks
    y = torch.randint(0, 10, (16,), device='cuda')
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step >= MINING_FROM:
        hard_examples.append(x)
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', truth.size_of(x), first_step=MINING_FROM))
