# SPDX-License-Identifier: MIT
"""Appends each hidden state to a history and cuts it to the last ten when it has thirty."""
import torch
from torch import nn

import truth

cell, readout = nn.GRUCell(16, 256).cuda(), nn.Linear(256, 4).cuda()
optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()])
history = []
hidden = torch.zeros(8, 256, device='cuda')
for step in range(80):
    hidden = cell(torch.randn(8, 16, device='cuda'), hidden.detach())
    history.append(hidden.detach())
    context = torch.stack(history[-10:]).mean(0)
    loss = readout(hidden + context).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if len(history) >= 30:
        history = history[-10:]
    truth.end_of_step()
truth.declare_no_leak()
