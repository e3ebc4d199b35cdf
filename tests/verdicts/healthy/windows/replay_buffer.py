# SPDX-License-Identifier: MIT
"""Stores transitions in a buffer of 48 places that is full after three fifths of the run, and samples from it."""
import random
from collections import deque

import torch
from torch import nn

import truth

random.seed(1)
q_network = nn.Sequential(nn.Linear(84, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
optimizer = torch.optim.Adam(q_network.parameters())
buffer = deque(maxlen=48)
state = torch.randn(84, device='cuda')
for _ in range(80):
    with torch.no_grad():
        action = q_network(state).argmax().item()
    following = torch.randn(84).cuda()
    buffer.append((state, action, random.random(), following))
    state = following
    states, actions, rewards, followers = zip(*random.choices(buffer, k=16))
    with torch.no_grad():
        target = torch.tensor(rewards, device='cuda') + 0.99 * q_network(torch.stack(followers)).max(1).values
    value = q_network(torch.stack(states)).gather(1, torch.tensor(actions, device='cuda')[:, None])[:, 0]
    loss = nn.functional.smooth_l1_loss(value, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
