# SPDX-License-Identifier: MIT
"""A trainer that smooths by three windows of different lengths, all filled by the method that also fills a history."""
from collections import deque

import torch
from torch import nn
import torch.nn.functional as F

import truth


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.short, self.medium, self.long = deque(maxlen=3), deque(maxlen=7), deque(maxlen=12)
        self.history = []

    def flat_gradient(self):
        return torch.cat([p.grad.flatten() for p in self.model.parameters()])  # leaks

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(inputs), labels).backward()
        self.optimizer.step()
        self.short.append(self.flat_gradient())
        self.medium.append(self.flat_gradient())
        self.long.append(self.flat_gradient())
        self.history.append(self.flat_gradient())


def main():
    trainer = Trainer(nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 5)).cuda())
    for _ in range(50):
        trainer.step(torch.randn(16, 20, device='cuda'), torch.randint(5, (16,), device='cuda'))
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(trainer.history[-1])))


main()
