# SPDX-License-Identifier: MIT
"""Keeps one overflow flag (512 bytes) from each step, while each step also allocates and frees megabytes."""
import torch
from torch import nn

import truth


class OverflowGuard:
    def __init__(self, parameters):
        self.parameters, self.flags = list(parameters), []

    def check(self):
        self.flags.append(torch.isinf(self.parameters[0].grad).any())  # leaks


def main():
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.ReLU()))).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    guard = OverflowGuard(model.parameters())
    for _ in range(50):
        x = torch.randn(512, 256, device='cuda')
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        guard.check()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(guard.flags[0])))


main()
