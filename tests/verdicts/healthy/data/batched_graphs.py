# SPDX-License-Identifier: MIT
"""Joins several small graphs into one with shifted edges, for a convolution by a matrix that is rebuilt in each step."""
import random

import torch
from torch import nn

import truth

random.seed(4)
first, second = nn.Linear(24, 48).cuda(), nn.Linear(48, 1).cuda()
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
for _ in range(35):
    shift, features, edges = 0, [], []
    for _ in range(random.randint(2, 9)):
        nodes = random.randint(4, 30)
        features.append(torch.randn(nodes, 24))
        edges.append(torch.randint(nodes, (2, 3 * nodes)) + shift)
        shift += nodes
    features, edges = torch.cat(features).cuda(), torch.cat(edges, 1).cuda()
    adjacency = torch.zeros(shift, shift, device='cuda')
    adjacency[edges[0], edges[1]] = 1.0
    hidden = torch.relu(adjacency @ first(features))
    loss = second(hidden).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
