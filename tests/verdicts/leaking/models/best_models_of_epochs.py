# SPDX-License-Identifier: MIT
"""A trainer that copies the model whenever validation is no worse than before, and keeps each copy."""
import copy

import torch
from torch import nn

import truth


class Trainer:
    def __init__(self, model, steps_per_epoch=12):
        self.model, self.steps_per_epoch = model, steps_per_epoch
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, nesterov=True, momentum=0.9)
        self.best = []

    def train_epoch(self):
        for _ in range(self.steps_per_epoch):
            x = torch.randn(10, 40, device='cuda')
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), x).backward()
            self.optimizer.step()
            truth.end_of_step()

    def keep_best(self, epoch):
        self.best.append((epoch, copy.deepcopy(self.model)))  # leaks

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train_epoch()
            self.keep_best(epoch)


if __name__ == '__main__':
    trainer = Trainer(nn.Sequential(nn.Linear(40, 300), nn.GELU(), nn.Linear(300, 40)).cuda())
    trainer.fit(4)
    size = truth.size_of(*trainer.best[-1][1].parameters())
    truth.declare_leaks(truth.leak('# leaks', size / trainer.steps_per_epoch))
