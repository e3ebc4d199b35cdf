# SPDX-License-Identifier: MIT
"""Keeps an exponential average of the weights in a deep copy of the model that is updated in place."""
import copy

import torch
from torch import nn

import truth


class EMA:
    def __init__(self, model, decay=0.99):
        self.model, self.decay = copy.deepcopy(model).requires_grad_(False), decay

    @torch.no_grad()
    def update(self, model):
        for mine, new in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(new, 1 - self.decay)


net = nn.Sequential(nn.Linear(80, 160), nn.Mish(), nn.Linear(160, 3)).cuda()
ema = EMA(net)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(40):
    loss = net(torch.randn(25, 80, device='cuda')).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(net)
    truth.end_of_step()
truth.declare_no_leak()
