# SPDX-License-Identifier: MIT
"""Moves a deep copy of the model to the CPU at each improvement, so that the device holds the copy only for a moment."""
import copy

import torch
from torch import nn

import truth

network = nn.Sequential(nn.Conv1d(6, 20, 5), nn.ReLU(), nn.Conv1d(20, 20, 5), nn.AdaptiveMaxPool1d(1), nn.Flatten()).cuda()
optimizer = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.8)
best = None
for epoch in range(30):
    signal = torch.randn(12, 6, 60, device='cuda')
    loss = network(signal).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        best = copy.deepcopy(network).cpu()
    truth.end_of_step()
truth.declare_no_leak()
