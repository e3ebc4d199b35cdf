# SPDX-License-Identifier: MIT
"""Trains on batches sorted from short to long in each of two epochs, and keeps nothing of a batch."""
import torch
from torch import nn

import truth

lengths = sorted(5 + (37 * number) % 60 for number in range(30))
recurrent, readout = nn.GRU(16, 32, batch_first=True).cuda(), nn.Linear(32, 2).cuda()
optimizer = torch.optim.Adam([*recurrent.parameters(), *readout.parameters()])
for epoch in range(2):
    for length in lengths:
        signal = torch.randn(12, length, 16).cuda()
        _, last = recurrent(signal)
        loss = nn.functional.cross_entropy(readout(last[0]), torch.randint(2, (12,)).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
truth.declare_no_leak()
