# SPDX-License-Identifier: MIT
"""Keeps only the best weights, which it replaces when validation gets better."""
import copy
import math

import torch
from torch import nn

import truth

SCORES = [0.1 + 0.8 * (1 - math.exp(-epoch / 6)) - 0.05 * (epoch % 3 == 2) for epoch in range(16)]


class EarlyStopping:
    def __init__(self):
        self.best_score, self.best = -math.inf, None

    def __call__(self, score, model, optimizer):
        if score > self.best_score:
            self.best_score = score
            self.best = copy.deepcopy({'model': model.state_dict(), 'optimizer': optimizer.state_dict()})


model = nn.Sequential(nn.Linear(60, 90), nn.ELU(), nn.Linear(90, 60)).cuda()
optimizer = torch.optim.Adam(model.parameters())
keep_best = EarlyStopping()
for epoch in range(16):
    for _ in range(7):
        x = torch.randn(20, 60, device='cuda')
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    keep_best(SCORES[epoch], model, optimizer)
truth.declare_no_leak()
