# SPDX-License-Identifier: MIT
"""Begins with sixteen models on the device and drops the worse half after each round."""
import random

import torch
from torch import nn

import truth


class Trial:
    def __init__(self, rate):
        self.model = nn.Sequential(nn.Linear(40, 60), nn.Tanh(), nn.Linear(60, 1)).cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate)
        self.score = 0

    def train(self):
        self.optimizer.zero_grad()
        self.model(torch.randn(16, 40, device='cuda')).square().mean().backward()
        self.optimizer.step()
        self.score += random.random()


def main():
    trials = [Trial(10 ** random.uniform(-5, -1)) for _ in range(16)]
    while len(trials) > 1:
        for _ in range(6):
            for trial in trials:
                trial.train()
            truth.end_of_step()
        trials = sorted(trials, key=lambda trial: trial.score)[len(trials) // 2:]
    for _ in range(12):
        trials[0].train()
        truth.end_of_step()


main()
truth.declare_no_leak()
