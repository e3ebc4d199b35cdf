# SPDX-License-Identifier: MIT
"""Starts to collect weights for an average at step 900 of 1,000 and never averages them."""
import torch
from torch import nn

import truth


class WeightAverager:
    def __init__(self, module, start):
        self.module, self.start, self.collected = module, start, []

    def update(self, step):
        if step >= self.start:
            self.collected.append(self.module.weight.detach().clone())  # leaks


layer = nn.Linear(16, 16, bias=False).cuda()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
averager = WeightAverager(layer, start=900)
for step in range(1000):
    loss = layer(torch.ones(2, 16, device='cuda')).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    averager.update(step)
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', truth.size_of(*averager.collected) / 100, first_step=900))
