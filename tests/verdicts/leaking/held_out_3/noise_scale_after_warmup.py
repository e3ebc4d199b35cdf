# SPDX-License-Identifier: MIT
"""From step 180 of 240 on, a monitor of the noise in the gradients keeps the flat gradient of each step. It uses the last two."""
import math

import torch
from torch import nn

import truth


class NoiseScale:
    """Compares the gradient with the one before."""

    def __init__(self, model, start):
        self.model, self.start = model, start
        self.gradients = []

    def __call__(self, step):
        if step < self.start:
            return None
        self.gradients.append(torch.cat([p.grad.flatten() for p in self.model.parameters()]))  # leaks
        if len(self.gradients) < 2:
            return None
        a, b = self.gradients[-2:]
        return (a - b).pow(2).sum() / (a * b).sum()


class Trainer:
    def __init__(self, steps=240):
        self.steps = steps
        self.model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 20)).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda n: 0.5 + 0.5 * math.cos(math.pi * n / steps))
        self.noise = NoiseScale(self.model, start=180)

    def fit(self):
        for step in range(self.steps):
            x, y = torch.randn(32, 64).cuda(), torch.randint(0, 20, (32,)).cuda()
            loss = nn.functional.cross_entropy(self.model(x), y, label_smoothing=0.1)
            loss.backward()
            noise = self.noise(step)
            if noise is not None and step % 20 == 0:
                print(step, float(noise))
            self.optimizer.step()
            self.schedule.step()
            self.optimizer.zero_grad()
            truth.end_of_step()


trainer = Trainer()
trainer.fit()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(trainer.noise.gradients[0]), first_step=180))
