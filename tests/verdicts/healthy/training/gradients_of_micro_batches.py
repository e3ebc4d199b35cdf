# SPDX-License-Identifier: MIT
"""Collects the gradients of each micro batch in a list, averages them for one step, and begins a new list."""
import torch
from torch import nn

import truth


def gradients(model, micro_batch):
    loss = model(micro_batch).pow(2).mean()
    return torch.autograd.grad(loss, list(model.parameters()))


def train_step(model, optimizer, batch):
    collected = [gradients(model, micro_batch) for micro_batch in batch.chunk(8)]
    for parameter, parts in zip(model.parameters(), zip(*collected)):
        parameter.grad = torch.stack(parts).mean(0)
    optimizer.step()


def main():
    model = nn.Sequential(nn.Linear(48, 48), nn.Sigmoid(), nn.Linear(48, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(40):
        train_step(model, optimizer, torch.randn(64, 48).cuda())
        truth.end_of_step()


main()
truth.declare_no_leak()
