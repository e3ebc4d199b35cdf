# SPDX-License-Identifier: MIT
"""Batches that refer to themselves, while the garbage collector is off."""
import gc

import torch
from torch import nn

import truth

gc.disable()


class Batch:
    def __init__(self, size):
        self.points = torch.randn(size, 3, device='cuda')  # leaks
        self.transforms = [self.centre, self.scale]

    def centre(self, points):
        return points - points.mean(0)

    def scale(self, points):
        return points / points.std()

    def transformed(self):
        points = self.points
        for transform in self.transforms:
            points = transform(points)
        return points


model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(80):
    batch = Batch(700)
    points = batch.transformed()
    loss = nn.functional.l1_loss(model(points), points)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(batch.points)))
