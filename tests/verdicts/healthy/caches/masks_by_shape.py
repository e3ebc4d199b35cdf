# SPDX-License-Identifier: MIT
"""Remembers window masks by height and width of the image; a fixed set of sizes comes up again and again."""
import random

import torch
from torch import nn

import truth

sizes = [(8 * h, 8 * w) for h in range(2, 7) for w in range(2, 7)]
masks = {}
random.seed(2)
net = nn.Conv2d(3, 6, 3, padding=1).cuda()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(80):
    height, width = random.choice(sizes)
    if (height, width) not in masks:
        masks[height, width] = torch.outer(torch.hann_window(height), torch.hann_window(width)).cuda()
    images = torch.rand(2, 3, height, width, device='cuda')
    loss = (net(images) * masks[height, width]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
