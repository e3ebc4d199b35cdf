# SPDX-License-Identifier: MIT
"""Adds a head for each new task at five fixed points of the training; each brings weights, gradients and optimizer state once."""
import torch
from torch import nn

import truth


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.heads = nn.ModuleDict()

    def add_task(self, name, classes):
        self.heads[name] = nn.Linear(128, classes).cuda()
        return self.heads[name].parameters()

    def forward(self, x):
        features = self.trunk(x)
        return {name: head(features) for name, head in self.heads.items()}


model = MultiTask().cuda()
optimizer = torch.optim.Adam(model.parameters())
tasks = {0: ('colour', 12), 10: ('shape', 30), 20: ('size', 5), 30: ('kind', 80), 40: ('maker', 40)}
for step in range(75):
    if step in tasks:
        optimizer.add_param_group({'params': model.add_task(*tasks[step])})
    loss = sum(output.logsumexp(1).mean() for output in model(torch.randn(20, 64, device='cuda')).values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
