# SPDX-License-Identifier: MIT
"""Keeps the log probabilities of an episode with their graph until the episode's end, when one backward pass frees them."""
import random

import torch
from torch import nn
from torch.distributions import Categorical

import truth


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
        self.log_probabilities, self.rewards = [], []

    def act(self, state):
        choice = Categorical(logits=self.net(state), validate_args=False)
        action = choice.sample()
        self.log_probabilities.append(choice.log_prob(action))
        return action.item()


def finish(policy, optimizer):
    returns, total = [], 0.0
    for reward in reversed(policy.rewards):
        total = reward + 0.99 * total
        returns.insert(0, total)
    loss = -(torch.stack(policy.log_probabilities) * torch.tensor(returns, device='cuda')).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.log_probabilities.clear()
    policy.rewards.clear()


def main():
    random.seed(2)
    policy = Policy().cuda()
    optimizer = torch.optim.Adam(policy.parameters())
    for episode in range(25):
        for _ in range(random.randint(10, 50)):
            policy.act(torch.randn(8, device='cuda'))
            policy.rewards.append(random.random())
        finish(policy, optimizer)
        truth.end_of_step()


main()
truth.declare_no_leak()
