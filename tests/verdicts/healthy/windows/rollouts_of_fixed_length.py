# SPDX-License-Identifier: MIT
"""Collects sixteen steps of several environments in a rollout, makes four passes of updates over it, and clears it."""
import torch
from torch import nn

import truth


class Rollout:
    def __init__(self):
        self.clear()

    def clear(self):
        self.states, self.actions, self.log_probabilities, self.values = [], [], [], []

    def add(self, *entries):
        for column, entry in zip((self.states, self.actions, self.log_probabilities, self.values), entries):
            column.append(entry)

    def stacked(self):
        return [torch.cat(column) for column in (self.states, self.actions, self.log_probabilities, self.values)]


def main():
    actor, critic = nn.Linear(24, 5).cuda(), nn.Linear(24, 1).cuda()
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
    rollout = Rollout()
    for step in range(80):
        state = torch.randn(10, 24, device='cuda')
        with torch.no_grad():
            scores = actor(state).log_softmax(1)
            action = scores.argmax(1)
            rollout.add(state, action, scores.gather(1, action[:, None]), critic(state))
        if len(rollout.states) == 16:
            states, actions, old, values = rollout.stacked()
            for _ in range(4):
                ratio = (actor(states).log_softmax(1).gather(1, actions[:, None]) - old).exp()
                loss = -(ratio * values).mean() + (critic(states) - values).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            rollout.clear()
        truth.end_of_step()


main()
truth.declare_no_leak()
