# SPDX-License-Identifier: MIT
"""Stacks the last sixteen frames of a video for a model of actions, and forgets those before."""
from collections import deque

import torch
from torch import nn

import truth

frames = deque(maxlen=16)
model = nn.Sequential(nn.Conv3d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4, 6)).cuda().eval()
for _ in range(45):
    frame = torch.rand(3, 24, 24)
    frames.append(frame.to('cuda'))
    if len(frames) == frames.maxlen:
        with torch.no_grad():
            action = model(torch.stack(list(frames), dim=1)[None]).argmax().item()
    truth.end_of_step()
truth.declare_no_leak()
