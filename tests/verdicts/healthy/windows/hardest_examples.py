# SPDX-License-Identifier: MIT
"""Keeps the 24 examples with the highest loss in a heap and trains on some of them again; an easier one makes place for a harder."""
import heapq
import itertools
import random

import torch
from torch import nn

import truth


class HardExamples:
    def __init__(self, size):
        self.size, self.heap, self.ties = size, [], itertools.count()

    def add(self, difficulty, example):
        heapq.heappush(self.heap, (difficulty, next(self.ties), example.clone()))
        if len(self.heap) > self.size:
            heapq.heappop(self.heap)

    def sample(self, number):
        return torch.stack([example for _, _, example in random.sample(self.heap, min(number, len(self.heap)))])


def main():
    random.seed(6)
    hard = HardExamples(24)
    model = nn.Sequential(nn.Flatten(), nn.Linear(300, 20), nn.ReLU(), nn.Linear(20, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(70):
        batch = torch.rand(16, 3, 10, 10).cuda()
        losses = model(torch.cat([batch, hard.sample(4)]) if hard.heap else batch).square()
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        for difficulty, example in zip(losses.detach().squeeze(1).cpu().tolist()[:2], batch[:2]):
            hard.add(difficulty + random.random(), example)
        truth.end_of_step()


main()
truth.declare_no_leak()
