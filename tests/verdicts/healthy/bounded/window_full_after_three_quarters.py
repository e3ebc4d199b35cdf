# SPDX-License-Identifier: MIT
"""Keeps the last 45 outputs of a stream to normalise by them; the window is full after three quarters of the run."""
from collections import deque

import torch
from torch import nn

import truth


class Normaliser:
    def __init__(self, window):
        self.window = deque(maxlen=window)

    def __call__(self, x):
        self.window.append(x.detach())
        past = torch.stack(tuple(self.window))
        return (x - past.mean(0)) / (past.std(0, unbiased=False) + 1e-3)


normalise = Normaliser(45)
sensor_model = nn.Sequential(nn.Linear(10, 200), nn.ReLU(), nn.Linear(200, 400)).cuda().eval()
alarms = 0
with torch.inference_mode():
    for reading in range(60):
        score = normalise(sensor_model(torch.randn(10).cuda()))
        alarms += bool((score.abs() > 3).any())
        truth.end_of_step()
truth.declare_no_leak()
