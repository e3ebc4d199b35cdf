# SPDX-License-Identifier: MIT
"""Allocates the replay memory once and writes transitions round and round into it."""
import torch
from torch import nn

import truth


class ReplayRing:
    def __init__(self, capacity, width):
        self.states = torch.zeros(capacity, width, device='cuda')
        self.rewards = torch.zeros(capacity, device='cuda')
        self.capacity, self.written = capacity, 0

    def add(self, state, reward):
        place = self.written % self.capacity
        self.states[place], self.rewards[place] = state, reward
        self.written += 1

    def sample(self, number):
        rows = torch.randint(min(self.written, self.capacity), (number,)).cuda()
        return self.states[rows], self.rewards[rows]


def main():
    critic = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1)).cuda()
    target = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1)).cuda()
    optimizer, ring = torch.optim.Adam(critic.parameters()), ReplayRing(500, 40)
    for step in range(60):
        for _ in range(4):
            ring.add(torch.randn(40).cuda(), float(step))
        states, rewards = ring.sample(32)
        with torch.no_grad():
            wanted = rewards[:, None] + 0.9 * target(states)
        loss = nn.functional.mse_loss(critic(states), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            target.load_state_dict(critic.state_dict())
        truth.end_of_step()


main()
truth.declare_no_leak()
