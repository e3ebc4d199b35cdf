# SPDX-License-Identifier: MIT
"""Makes a window and a filter for each length of signal that it meets; most lengths come in the first twenty steps, the last few late."""
import random

import torch
from torch import nn

import truth

random.seed(21)
lengths = [64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024]
weights = [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
plans = {}
mix = nn.Linear(1, 8).cuda()
optimizer = torch.optim.Adam(mix.parameters())
for _ in range(70):
    length, = random.choices(lengths, weights)
    if length not in plans:
        plans[length] = torch.hann_window(length).cuda(), torch.linspace(0, 1, length, device='cuda')
    window, slope = plans[length]
    signal = torch.randn(length, device='cuda') * window
    loss = (mix(signal[:, None]) * slope[:, None]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
