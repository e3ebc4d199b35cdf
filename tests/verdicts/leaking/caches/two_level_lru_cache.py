# SPDX-License-Identifier: MIT
"""Moves evicted entries of a small cache to a second cache, which was meant to be on the host and has no limit."""
from collections import OrderedDict

import torch
from torch import nn

import truth


class TwoLevelCache:
    def __init__(self, capacity):
        self.first, self.second, self.capacity = OrderedDict(), {}, capacity

    def put(self, key, value):
        self.first[key] = value
        if len(self.first) > self.capacity:
            old, evicted = self.first.popitem(last=False)
            if old % 2:
                self.second[old] = evicted


def main():
    cache = TwoLevelCache(capacity=6)
    teacher = nn.Sequential(nn.Linear(20, 96), nn.ReLU()).cuda().requires_grad_(False)
    student = nn.Linear(20, 96).cuda()
    optimizer = torch.optim.Adam(student.parameters())
    for step in range(60):
        x = torch.randn(32, 20, device='cuda')
        target = teacher(x)  # leaks
        cache.put(step, target)
        loss = nn.functional.mse_loss(student(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(target) / 2))


main()
