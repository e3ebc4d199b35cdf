# SPDX-License-Identifier: MIT
"""Unrolls a recurrent cell over sixty steps and keeps their graph for the one backward pass at the end of the sequence."""
import torch
from torch import nn

import truth

cell, readout = nn.RNNCell(12, 48).cuda(), nn.Linear(48, 3).cuda()
optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()])
sequence = torch.randn(60, 16, 12)
state, losses = torch.zeros(16, 48, device='cuda'), []
for x in sequence:
    state = cell(x.cuda(), state)
    losses.append(readout(state).square().mean())
    truth.end_of_step()
optimizer.zero_grad()
torch.stack(losses).sum().backward()
optimizer.step()
del state, losses
truth.declare_no_leak()
