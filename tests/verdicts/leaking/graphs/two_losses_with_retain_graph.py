# SPDX-License-Identifier: MIT
"""Trains by two losses on one graph, retains it for both, and keeps the second loss for the log."""
import torch
from torch import nn

import truth


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(20, 128)
        self.first, self.second = nn.Linear(128, 4), nn.Linear(128, 4)

    def forward(self, x):
        shared = self.body(x).sigmoid()  # leaks graph
        return self.first(shared), self.second(shared)


class Trainer:
    def __init__(self):
        self.model = TwoHeads().cuda()
        self.optimizer = torch.optim.Adadelta(self.model.parameters())
        self.log = []

    def step(self, batch):
        first, second = self.model(batch)
        self.optimizer.zero_grad()
        first.mean().backward(retain_graph=True)
        total = second.mean()  # leaks loss
        total.backward(retain_graph=True)
        self.optimizer.step()
        self.log.append(total)


trainer = Trainer()
dataset = torch.randn(36, 25, 20, device='cuda')
for batch in dataset:
    trainer.step(batch)
    truth.end_of_step()
shared = 25 * 128 * 4
truth.declare_leaks(truth.leak('# leaks graph', shared), truth.leak('# leaks loss', truth.size_of(trainer.log[0])))
