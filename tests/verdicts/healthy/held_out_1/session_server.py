# SPDX-License-Identifier: MIT
"""A server whose sessions expire when they have not been used for twenty requests."""
import random

import torch
from torch import nn

import truth


class SessionServer:
    LIFETIME = 20

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(300, 200), nn.ReLU(), nn.Linear(200, 300)).cuda().eval()
        self.sessions = {}
        self.clock = 0

    def expire(self):
        for name in [name for name, (used, _) in self.sessions.items() if self.clock - used > self.LIFETIME]:
            del self.sessions[name]

    def request(self, name):
        self.clock += 1
        self.expire()
        _, context = self.sessions.get(name, (0, None))
        if context is None:
            context = torch.zeros(5, 300, device='cuda')
        with torch.no_grad():
            context = 0.5 * context + self.model(context + torch.randn_like(context))
        self.sessions[name] = self.clock, context
        return context.mean().item()


random.seed(21)
server = SessionServer()
for number in range(160):
    server.request(f'user {number if random.random() < 0.6 else max(0, number - random.randrange(1, 15))}')
    truth.end_of_step()
truth.declare_no_leak()
