# SPDX-License-Identifier: MIT
"""Buys eight labels a round for the pool on the device until the budget of 240 is spent, and trains on the pool that it has."""
import torch
from torch import nn

import truth


class Pool:
    def __init__(self, budget):
        self.images, self.labels, self.budget = [], [], budget

    def buy(self, images):
        if self.budget >= len(images):
            self.budget -= len(images)
            self.images.append(images.cuda())
            self.labels.append(torch.randint(5, (len(images),)).cuda())

    def batch(self):
        return torch.cat(self.images[-12:]), torch.cat(self.labels[-12:])


def main():
    pool = Pool(240)
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 5)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(60):
        candidates = torch.rand(8, 3, 8, 8)
        with torch.no_grad():
            model(candidates.cuda()).softmax(1).amax(1).cpu()
        pool.buy(candidates)
        images, labels = pool.batch()
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
