# SPDX-License-Identifier: MIT
"""Trains one more member of an ensemble in each round, and keeps all with their gradients."""
import torch
from torch import nn

import truth

members = []
x = torch.randn(64, 20, device='cuda')
residual = torch.randn(64, 8, device='cuda')
for _ in range(30):
    member = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')  # leaks parameters
    optimizer = torch.optim.SGD(member.parameters(), lr=0.1)
    loss = nn.functional.mse_loss(member(x), residual)
    loss.backward()  # leaks gradients
    optimizer.step()
    members.append(member)
    with torch.no_grad():
        residual -= member(x)
    truth.end_of_step()
size = truth.size_of(*member.parameters())
truth.declare_leaks(truth.leak('# leaks parameters', size), truth.leak('# leaks gradients', size))
