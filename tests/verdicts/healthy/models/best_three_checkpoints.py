# SPDX-License-Identifier: MIT
"""Keeps deep copies of the three best models seen so far in a heap, where a better one pushes the worst out."""
import copy
import heapq
import random

import torch
from torch import nn

import truth


class TopK:
    def __init__(self, k):
        self.k, self.heap, self.number = k, [], 0

    def offer(self, score, model):
        self.number += 1
        entry = score, self.number, copy.deepcopy(model)
        if len(self.heap) < self.k:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heappushpop(self.heap, entry)


def main():
    random.seed(4)
    model = nn.Sequential(nn.Linear(32, 96), nn.ReLU(), nn.Linear(96, 1)).cuda()
    optimizer = torch.optim.RAdam(model.parameters())
    best = TopK(3)
    for step in range(60):
        loss = model(torch.randn(64, 32, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 4 == 3:
            best.offer(step / 60 + random.random(), model)
        truth.end_of_step()


main()
truth.declare_no_leak()
