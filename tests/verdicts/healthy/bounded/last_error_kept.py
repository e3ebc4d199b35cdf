# SPDX-License-Identifier: MIT
"""Keeps the last exception, whose traceback holds the tensors of the failed step, until the next failure replaces it."""
import torch
from torch import nn

import truth


class BadBatch(ValueError):
    pass


def train_step(model, optimizer, number):
    inputs = torch.randn(100, 80, device='cuda')
    activations = model(inputs)
    if number % 9 == 5:
        raise BadBatch(f'batch {number} is broken')
    loss = activations.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    model = nn.Sequential(nn.Linear(80, 160), nn.ReLU(), nn.Linear(160, 20)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    last_error = None
    for number in range(60):
        try:
            train_step(model, optimizer, number)
        except BadBatch as error:
            last_error = error
        truth.end_of_step()
    print('last error:', last_error)


main()
truth.declare_no_leak()
