# SPDX-License-Identifier: MIT
"""Wraps each batch in objects that refer to each other; Python's collector frees them now and then."""
import torch
from torch import nn

import truth


class Sample:
    def __init__(self, tensor, batch):
        self.tensor, self.batch = tensor, batch


class Batch:
    def __init__(self, size):
        self.samples = [Sample(torch.randn(64, device='cuda'), self) for _ in range(size)]

    def stacked(self):
        return torch.stack([sample.tensor for sample in self.samples])


model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(80):
    loss = model(Batch(12).stacked()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
