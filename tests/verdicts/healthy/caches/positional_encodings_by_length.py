# SPDX-License-Identifier: MIT
"""Remembers the positional encoding of each length. There are at most sixteen lengths."""
import math
import random

import torch
from torch import nn

import truth


class Sinusoidal(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width, self.by_length = width, {}

    def forward(self, x):
        length = x.shape[1]
        if length not in self.by_length:
            place = torch.arange(length, device=x.device)[:, None]
            rate = torch.exp(torch.arange(0, self.width, 2, device=x.device) * (-math.log(10000.0) / self.width))
            self.by_length[length] = torch.cat([torch.sin(place * rate), torch.cos(place * rate)], 1)
        return x + self.by_length[length]


random.seed(5)
model = nn.Sequential(nn.Linear(20, 64), Sinusoidal(64), nn.Linear(64, 20)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(60):
    x = torch.randn(4, 8 * random.randint(1, 16), 20, device='cuda')
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
