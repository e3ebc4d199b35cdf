# SPDX-License-Identifier: MIT
"""Routes each batch to one of twenty experts. Some experts see their first batch late, and get their optimizer state late."""
import random

import torch
from torch import nn

import truth


class Experts(nn.Module):
    def __init__(self, number, width):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(number))
        self.gate = nn.Linear(width, number)

    def forward(self, x, topic):
        weight = self.gate(x).softmax(-1)[:, topic:topic + 1]
        return x + weight * self.experts[topic](x)


def main():
    random.seed(2)
    model = Experts(20, 64).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    popularity = [1 / (rank + 1) for rank in range(20)]
    for _ in range(80):
        topic, = random.choices(range(20), popularity)
        loss = model(torch.randn(24, 64, device='cuda'), topic).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        truth.end_of_step()


main()
truth.declare_no_leak()
