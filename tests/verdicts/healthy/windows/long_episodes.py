# SPDX-License-Identifier: MIT
"""Counts the steps of the environment: the trajectory of an episode stays until its end, and the last episode is the longest."""
import torch
from torch import nn

import truth

policy = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16)).cuda()
optimizer = torch.optim.Adam(policy.parameters())
for length in (12, 21, 42):
    trajectory = []
    state = torch.randn(1, 16, device='cuda')
    for _ in range(length):
        with torch.no_grad():
            state = state + 0.1 * policy(state)
        trajectory.append(state)
        truth.end_of_step()
    states = torch.cat(trajectory)
    loss = (policy(states[:-1]) - states[1:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del trajectory, states
truth.declare_no_leak()
