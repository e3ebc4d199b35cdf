# SPDX-License-Identifier: MIT
"""Appends the grad_fn of each penalty to a list to print the graphs later; the penalty itself is never passed backward."""
import torch
from torch import nn

import truth

x = torch.randn(64, 24, device='cuda')
net = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1)).cuda()
optimizer = torch.optim.Adam(net.parameters())
graphs = []
for _ in range(40):
    optimizer.zero_grad()
    net(x).square().mean().backward()
    penalty = net[0].weight.exp().sum()  # leaks
    graphs.append(penalty.grad_fn)
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(net[0].weight)))
