# SPDX-License-Identifier: MIT
"""Keeps the last 40 losses on the device in a deque to print their median; the deque is full after 40 of 80 steps."""
from collections import deque

import torch
from torch import nn

import truth


class SmoothedValue:
    def __init__(self, window):
        self.values = deque(maxlen=window)

    def update(self, value):
        self.values.append(value.detach())

    @property
    def median(self):
        return torch.stack(list(self.values)).median().item()


def main():
    model = nn.Linear(64, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    smoothed = SmoothedValue(40)
    for step in range(80):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 64).cuda()), torch.randint(3, (8,)).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smoothed.update(loss)
        if step % 20 == 19:
            print(step, smoothed.median)
        truth.end_of_step()


main()
truth.declare_no_leak()
