# SPDX-License-Identifier: MIT
"""Registers each small model in a WeakSet for its statistics; the registry holds no model longer than its user does."""
import weakref

import torch
from torch import nn

import truth


class Tracked(nn.Module):
    instances = weakref.WeakSet()

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        Tracked.instances.add(self)

    def forward(self, x):
        return self.linear(x).tanh()


def personalise(base, user_data):
    model = Tracked(80).cuda()
    model.load_state_dict(base.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in user_data:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return sum(parameter.numel() for model in Tracked.instances for parameter in model.parameters())


def main():
    base = Tracked(80).cuda()
    for user in range(30):
        personalise(base, torch.randn(2, 10, 80, device='cuda'))
        truth.end_of_step()


main()
truth.declare_no_leak()
