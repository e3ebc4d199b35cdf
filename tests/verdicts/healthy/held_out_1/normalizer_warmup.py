# SPDX-License-Identifier: MIT
"""Collects inputs for its statistics during the first thirty steps, then lets them go."""
import torch
from torch import nn

import truth


class InputNormalizer(nn.Module):
    def __init__(self, width, warmup):
        super().__init__()
        self.warmup = warmup
        self.seen = []
        self.register_buffer('mean', torch.zeros(width))
        self.register_buffer('std', torch.ones(width))

    def forward(self, x):
        if self.training and self.seen is not None:
            self.seen.append(x)
            if len(self.seen) == self.warmup:
                everything = torch.cat(self.seen)
                self.mean.copy_(everything.mean(0))
                self.std.copy_(everything.std(0))
                self.seen = None
        return (x - self.mean) / self.std


model = nn.Sequential(InputNormalizer(200, 30), nn.Linear(200, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
for step in range(100):
    for group in optimizer.param_groups:
        group['lr'] = 1e-3 * min(1, (step + 1) / 30)
    x = torch.randn(16, 200).cuda()
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
