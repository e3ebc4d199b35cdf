# SPDX-License-Identifier: MIT
"""Runs a deep stack of layers in three checkpointed segments of the old, reentrant kind."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

import truth


def main():
    deep = nn.Sequential(*(nn.Sequential(nn.Linear(80, 80), nn.LayerNorm(80), nn.ReLU()) for _ in range(9))).cuda()
    optimizer = torch.optim.SGD(deep.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    for step in range(40):
        features = torch.randn(50, 80, device='cuda').requires_grad_()
        loss = checkpoint_sequential(deep, 3, features, use_reentrant=True).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        truth.end_of_step()


main()
truth.declare_no_leak()
