# SPDX-License-Identifier: MIT
"""An evolution strategy keeps the perturbations of a generation until the update, and then draws new ones."""
import random

import torch

import truth

weights = torch.zeros(64, 8, device='cuda')
for generation in range(6):
    perturbations, scores = [], []
    for member in range(12):
        noise = torch.randn_like(weights)
        with torch.no_grad():
            output = torch.randn(50, 64, device='cuda') @ (weights + 0.1 * noise)
        perturbations.append(noise)
        scores.append(output.square().mean().item() + random.random())
        truth.end_of_step()
    for noise, score in zip(perturbations, scores):
        weights += 0.01 * score * noise
truth.declare_no_leak()
