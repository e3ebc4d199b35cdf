# SPDX-License-Identifier: MIT
"""Deep Q-learning with a replay memory of 320 transitions on the device: it is full after 40 of 180 steps; then each new one replaces the oldest."""
import copy
import random
from typing import NamedTuple

import torch
from torch import nn

import truth

random.seed(9)


class Transition(NamedTuple):
    frame: torch.Tensor
    action: int
    reward: float
    after: torch.Tensor


class Replay:
    def __init__(self, capacity):
        self.capacity, self.items, self.priorities, self.at = capacity, [], [], 0

    def push(self, transition):
        if len(self.items) < self.capacity:
            self.items.append(transition)
            self.priorities.append(1.0)
        else:
            self.items[self.at], self.priorities[self.at] = transition, 1.0
            self.at = (self.at + 1) % self.capacity

    def sample(self, count):
        chosen = random.choices(range(len(self.items)), self.priorities, k=count)
        for index in chosen:
            self.priorities[index] = max(0.05, 0.9 * self.priorities[index])
        return [self.items[index] for index in chosen]


class Environment:
    def reset(self):
        return torch.randn(400).cuda()

    def step(self, action):
        return torch.randn(400).cuda(), random.random(), random.random() < 0.03


online = nn.Sequential(nn.Linear(400, 100), nn.ReLU(), nn.Linear(100, 3)).cuda()
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=5e-4, eps=1e-5)
replay, environment = Replay(320), Environment()
frame = environment.reset()
for step in range(180):
    for _ in range(8):
        action = random.randrange(3)
        after, reward, over = environment.step(action)
        replay.push(Transition(frame, action, reward, after))
        frame = environment.reset() if over else after
    batch = replay.sample(32)
    actions = torch.tensor([t.action for t in batch]).cuda()
    q = online(torch.stack([t.frame for t in batch])).gather(1, actions[:, None]).squeeze(1)
    best = target(torch.stack([t.after for t in batch])).max(1).values
    loss = nn.functional.smooth_l1_loss(q, torch.tensor([t.reward for t in batch]).cuda() + 0.99 * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        target.load_state_dict(online.state_dict())
    truth.end_of_step()
truth.declare_no_leak()
