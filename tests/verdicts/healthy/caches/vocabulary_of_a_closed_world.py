# SPDX-License-Identifier: MIT
"""Caches the features of the forty kinds of objects that exist; each scene shows some, and all have been seen after a while."""
import random

import torch
from torch import nn

import truth


class SceneModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.describe = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128))
        self.judge = nn.Linear(128, 2)
        self.known = {}

    def features(self, kind, description):
        if kind not in self.known:
            with torch.no_grad():
                self.known[kind] = self.describe(description[kind].cuda())
        return self.known[kind]

    def forward(self, kinds, description):
        return self.judge(torch.stack([self.features(kind, description) for kind in kinds]).sum(0))


def main():
    random.seed(12)
    description = torch.randn(40, 32)
    model = SceneModel().cuda()
    optimizer = torch.optim.SGD(model.judge.parameters(), lr=0.1)
    for _ in range(80):
        loss = model(random.sample(range(40), 3), description).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
