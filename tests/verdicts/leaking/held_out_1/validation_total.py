# SPDX-License-Identifier: MIT
"""Adds up the loss of validation over the whole run, with its graphs."""
import torch
from torch import nn

import truth


class Regression:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(20, 80), nn.ReLU(), nn.Linear(80, 4)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.val_x = torch.randn(64, 20, device='cuda')
        self.val_y = torch.randn(64, 4, device='cuda')
        self.val_total = 0.0

    def fit(self, steps, val_every):
        for step in range(steps):
            x = torch.randn(32, 20, device='cuda')
            loss = self.model(x).abs().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if (step + 1) % val_every == 0:
                self.validate()
            truth.end_of_step()

    def validate(self):
        self.model.eval()
        self.val_total += nn.functional.mse_loss(self.model(self.val_x), self.val_y)  # leaks
        self.model.train()


regression = Regression()
regression.fit(120, 6)
kept = truth.size_of(torch.empty(64, 80), torch.empty(64, 4))
truth.declare_leaks(truth.leak('# leaks', kept))
