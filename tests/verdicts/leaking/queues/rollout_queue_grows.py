# SPDX-License-Identifier: MIT
"""Actors add four trajectories a round, the learner takes the oldest three."""
from collections import deque

import torch
from torch import nn

import truth


class Actor:
    def __init__(self, seed):
        self.generator = torch.Generator('cuda').manual_seed(seed)

    def rollout(self):
        return torch.randn(24, 40, generator=self.generator, device='cuda')  # leaks


class Learner:
    def __init__(self):
        self.value = nn.Linear(40, 1).cuda()
        self.optimizer = torch.optim.Adam(self.value.parameters())

    def learn(self, trajectories):
        loss = self.value(torch.stack(trajectories)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


actors = [Actor(seed) for seed in range(4)]
learner = Learner()
pending = deque()
for update in range(48):
    for actor in actors:
        pending.append(actor.rollout())
    learner.learn([pending.popleft() for _ in range(3)])
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*pending) / 48))
