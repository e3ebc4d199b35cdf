# SPDX-License-Identifier: MIT
"""Keeps the per-sample losses of every tenth batch of 60, for a list of outliers."""
import torch
from torch import nn

import truth


def main():
    model = nn.Sequential(nn.Linear(25, 50), nn.ReLU(), nn.Linear(50, 25)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    outliers = {}
    for step in range(60):
        x = torch.randn(256, 25, device='cuda')
        errors = nn.functional.mse_loss(model(x), x, reduction='none').mean(1)  # leaks
        optimizer.zero_grad()
        errors.mean().backward()
        optimizer.step()
        if step % 10 == 0:
            outliers[step] = errors.detach()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*outliers.values()) / 60))


main()
