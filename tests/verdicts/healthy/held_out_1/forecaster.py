# SPDX-License-Identifier: MIT
"""Forecasts a series from a sliding window, and fits a new model every twenty steps."""
from collections import deque

import torch
from torch import nn

import truth


class Forecaster:
    def __init__(self, window=24, refit_every=20):
        self.window = deque(maxlen=window)
        self.recent_errors = deque(maxlen=10)
        self.refit_every = refit_every
        self.step = 0

    def new_model(self):
        self.model = nn.Sequential(nn.Conv1d(4, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4)).cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def update(self, value):
        if self.step % self.refit_every == 0:
            self.new_model()
        self.step += 1
        self.window.append(value)
        if len(self.window) < 6:
            return
        series = torch.stack(list(self.window), dim=-1)
        error = self.model(series[..., :-1]) - value
        self.optimizer.zero_grad()
        error.square().mean().backward()
        self.optimizer.step()
        self.recent_errors.append(error.detach())
        truth.end_of_step()


forecaster = Forecaster()
for hour in range(145):
    forecaster.update(torch.randn(64, 4).cuda())
truth.declare_no_leak()
