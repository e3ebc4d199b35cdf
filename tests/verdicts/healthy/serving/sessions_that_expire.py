# SPDX-License-Identifier: MIT
"""Keeps the state of each user's session on the device and removes sessions that were not used for fifteen requests."""
import random

import torch
from torch import nn

import truth


class Sessions:
    def __init__(self, lifetime):
        self.lifetime, self.states, self.last_used, self.now = lifetime, {}, {}, 0

    def get(self, user):
        return self.states.get(user)

    def put(self, user, state):
        self.now += 1
        self.states[user], self.last_used[user] = state, self.now
        for other in [name for name, time in self.last_used.items() if self.now - time > self.lifetime]:
            del self.states[other], self.last_used[other]


@torch.no_grad()
def main():
    random.seed(1)
    cell, sessions = nn.GRUCell(32, 512).cuda(), Sessions(15)
    active = list(range(10))
    for request in range(80):
        if request % 4 == 0:
            active = active[1:] + [active[-1] + 1]
        user = random.choice(active)
        sessions.put(user, cell(torch.randn(1, 32, device='cuda'), sessions.get(user)))
        truth.end_of_step()


main()
truth.declare_no_leak()
