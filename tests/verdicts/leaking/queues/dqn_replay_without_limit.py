# SPDX-License-Identifier: MIT
"""A DQN agent stores each transition on the device and never drops one."""
import random
from typing import NamedTuple

import torch
from torch import nn

import truth


class Transition(NamedTuple):
    state: torch.Tensor
    action: int
    reward: float
    following: torch.Tensor


class Environment:
    def reset(self):
        return torch.zeros(4, 84, device='cuda')

    def step(self, action):
        return torch.randn(4, 84, device='cuda'), 1.0  # leaks


def main():
    environment, replay = Environment(), []
    q = nn.Sequential(nn.Flatten(0), nn.Linear(4 * 84, 3)).cuda()
    optimizer = torch.optim.Adam(q.parameters())
    state = environment.reset()
    for step in range(60):
        action = random.randrange(3)
        following, reward = environment.step(action)
        replay.append(Transition(state, action, reward, following))
        state = following
        sample = random.choice(replay)
        wanted = sample.reward + 0.99 * q(sample.following).detach().max()
        loss = nn.functional.smooth_l1_loss(q(sample.state)[sample.action], wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(state)))


main()
