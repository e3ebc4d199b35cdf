# SPDX-License-Identifier: MIT
"""Runs a network of twelve identical blocks, without a head, on one tensor again and again; keeps nothing."""
import torch
from torch import nn

import truth

model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(12)]).cuda().eval()
x = torch.randn(16, 64, device='cuda')
with torch.no_grad():
    for _ in range(30):
        y = model(x)
        truth.end_of_step()
truth.declare_no_leak(steps_must_match=True)
