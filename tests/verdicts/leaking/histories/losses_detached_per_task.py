# SPDX-License-Identifier: MIT
"""Keeps the detached losses of three tasks for the epoch's table."""
from collections import defaultdict

import torch
from torch import nn
import torch.nn.functional as F

import truth


def main():
    trunk = nn.Linear(30, 60).cuda()
    heads = nn.ModuleDict({name: nn.Linear(60, 4) for name in ('color', 'shape', 'size')}).cuda()
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()])
    table = defaultdict(list)
    for _ in range(30):
        shared = trunk(torch.randn(16, 30, device='cuda')).relu()
        total = 0.0
        for name, head in heads.items():
            loss = F.cross_entropy(head(shared), torch.randint(4, (16,), device='cuda'))  # leaks
            table[name].append(loss.detach())
            total = total + loss
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', sum(truth.size_of(values[0]) for values in table.values())))


main()
