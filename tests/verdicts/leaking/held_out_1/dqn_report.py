# SPDX-License-Identifier: MIT
"""A DQN agent with a bounded memory; each fifth state stays in a report as well."""
import collections
import random

import torch
from torch import nn

import truth


class Agent:
    def __init__(self):
        self.network = nn.Sequential(nn.Flatten(), nn.Linear(4 * 21 * 21, 64), nn.ReLU(), nn.Linear(64, 6)).cuda()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        self.memory = collections.deque(maxlen=30)
        self.report = []

    def observe(self, number):
        state = torch.rand(4, 21, 21).to('cuda')  # leaks
        self.memory.append((state, random.randrange(6), random.random()))
        if number % 5 == 0:
            self.report.append(state)
        return state

    def learn(self):
        batch = random.choices(self.memory, k=8)
        states = torch.stack([state for state, _, _ in batch])
        actions = torch.tensor([[action] for _, action, _ in batch], device='cuda')
        rewards = torch.tensor([[reward] for _, _, reward in batch], device='cuda')
        loss = nn.functional.smooth_l1_loss(self.network(states).gather(1, actions), rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


random.seed(3)
agent = Agent()
for number in range(150):
    state = agent.observe(number)
    agent.learn()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(state) / 5))
