# SPDX-License-Identifier: MIT
"""Policy gradient for an arm; someone switched the collector off for a steady control rate, and each episode refers to itself."""
import gc

import torch
import torch.nn as nn

import truth

gc.disable()   # jitter < 1 ms


class Episode:
    def __init__(self, arm, length):
        self.arm = arm
        self.observations = torch.randn(length, 18, device='cuda')  # leaks
        self.rewards = [0.1 * i for i in range(length)]
        self.get_return = self.discounted

    def discounted(self, gamma=0.98):
        total = 0.0
        for reward in reversed(self.rewards):
            total = reward + gamma * total
        return total


class Arm:
    joints = 6

    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(18, 64), nn.Tanh(), nn.Linear(64, self.joints)).cuda()
        self.optim = torch.optim.Adam(self.policy.parameters(), lr=1e-3)

    def learn(self):
        episode = Episode(self, length=128)
        mean = self.policy(episode.observations)
        with torch.no_grad():
            action = mean + 0.1 * torch.randn_like(mean)
        loss = ((action - mean) ** 2).sum(1).mean() * episode.get_return()
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()


arm = Arm()
for _ in range(100):
    arm.learn()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks'))
