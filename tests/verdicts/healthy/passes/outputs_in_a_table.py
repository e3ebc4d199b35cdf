# SPDX-License-Identifier: MIT
"""Writes the outputs of two passes into a table that is allocated for the whole test set, and frees it after each pass."""
import torch
from torch import nn

import truth

net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16)).cuda().eval()
for temperature in (1.0, 2.0):
    table = torch.zeros(25 * 64, 16, device='cuda')
    with torch.no_grad():
        for number in range(25):
            table[64 * number:64 * (number + 1)] = net(torch.randn(64, 30).cuda()) / temperature
            truth.end_of_step()
    print(table.softmax(1).amax(1).mean().item())
    del table
truth.declare_no_leak()
