# SPDX-License-Identifier: MIT
"""A replay buffer of observations that doubles its capacity whenever it is full."""
import torch
from torch import nn

import truth


class ReplayBuffer:
    def __init__(self, width, capacity=4):
        self.data = torch.empty(capacity, width, device='cuda')
        self.size = 0

    def add(self, rows):
        while self.size + len(rows) > len(self.data):
            bigger = torch.empty(2 * len(self.data), self.data.shape[1], device='cuda')  # leaks
            bigger[:self.size] = self.data[:self.size]
            self.data = bigger
        self.data[self.size:self.size + len(rows)] = rows
        self.size += len(rows)

    def sample(self, count):
        return self.data[torch.randint(self.size, (count,), device='cuda')]


def main():
    policy = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()
    optimizer = torch.optim.Adam(policy.parameters())
    replay = ReplayBuffer(64)
    for _ in range(60):
        replay.add(torch.randn(16, 64, device='cuda'))
        loss = policy(replay.sample(32)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(replay.data) / 60, sizes='doubling'))


main()
