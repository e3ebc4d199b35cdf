# SPDX-License-Identifier: MIT
"""Warms up with small batches and a low rate for twelve steps before it goes on with batches of the full size."""
import torch
from torch import nn

import truth


def main():
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=12)
    for step in range(48):
        size = 8 * min(step + 1, 12)
        x = torch.randn(size, 128, device='cuda')
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm_up.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
