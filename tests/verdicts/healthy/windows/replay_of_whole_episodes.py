# SPDX-License-Identifier: MIT
"""Keeps the last ten episodes, of different lengths, as one tensor each; an episode itself is a list of observations while it lasts."""
import random

import torch
from torch import nn

import truth


def play(policy, length):
    observations = []
    observation = torch.zeros(32, device='cuda')
    with torch.no_grad():
        for _ in range(length):
            observation = observation + policy(observation)
            observations.append(observation)
    return torch.stack(observations)


random.seed(9)
policy = nn.Sequential(nn.Linear(32, 32), nn.Tanh()).cuda()
optimizer = torch.optim.Adam(policy.parameters())
episodes = []
for number in range(40):
    episodes.append(play(policy, random.randint(5, 60)))
    if len(episodes) > 10:
        episodes.pop(0)
    loss = policy(random.choice(episodes)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
