# SPDX-License-Identifier: MIT
"""Resamples particles of a filter in each step, whose number follows the uncertainty but has an upper limit."""
import math

import torch

import truth

particles = torch.randn(200, 6, device='cuda')
transition = torch.eye(6, device='cuda')
for step in range(60):
    moved = particles @ transition + 0.1 * torch.randn_like(particles)
    weights = torch.softmax(-moved.square().sum(1), 0)
    number = min(2000, 200 + 80 * step) if step < 30 else int(1500 + 400 * math.sin(step))
    chosen = torch.multinomial(weights, number, replacement=True) % len(moved)
    particles = moved[chosen]
    truth.end_of_step()
truth.declare_no_leak()
