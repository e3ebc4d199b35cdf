# SPDX-License-Identifier: MIT
"""Accumulates gradients over three batches, and a penalty over the whole run whose graph backward never frees."""
import torch
from torch import nn

import truth


class Accumulator:
    def __init__(self, model, every):
        self.model, self.every = model, every
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.penalty = torch.zeros((), device='cuda')
        self.batches = 0

    def add(self, batch):
        (self.model(batch).square().mean() / self.every).backward()
        self.penalty = self.penalty + self.model.weight.sigmoid().mean()  # leaks
        self.batches += 1
        if self.batches % self.every == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
            truth.end_of_step()


accumulator = Accumulator(nn.Linear(36, 64).cuda(), every=3)
for _ in range(90):
    accumulator.add(torch.randn(20, 36, device='cuda'))
truth.declare_leaks(truth.leak('# leaks'))
