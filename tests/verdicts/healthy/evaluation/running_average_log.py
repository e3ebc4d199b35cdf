# SPDX-License-Identifier: MIT
"""Keeps a running average of the loss as a number, and a log of text; no tensor outlives its step."""
import torch
from torch import nn

import truth


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def average(self):
        return self.sum / self.count


meter, lines = AverageMeter(), []
model = nn.Bilinear(16, 16, 4).cuda()
optimizer = torch.optim.NAdam(model.parameters())
for step in range(50):
    left, right = torch.randn(2, 20, 16, device='cuda')
    loss = model(left, right).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss.item(), 20)
    lines.append(f'step {step}: loss {loss.item():.4f}, average {meter.average:.4f}')
    truth.end_of_step()
truth.declare_no_leak()
