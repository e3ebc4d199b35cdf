# SPDX-License-Identifier: MIT
"""Tries growing learning rates on a model, keeps each loss as a number, and restores the saved weights and optimizer for the training."""
import copy

import torch
from torch import nn

import truth


def train_step(model, optimizer):
    loss = model(torch.randn(32, 28, 28, device='cuda')).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
    return loss.item()


def find_rate(model, optimizer, tries):
    saved = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    curve = []
    for number in range(tries):
        rate = 1e-6 * 10 ** (6 * number / tries)
        for group in optimizer.param_groups:
            group['lr'] = rate
        curve.append((train_step(model, optimizer), rate))
    model.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    return min(curve)[1]


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rate = find_rate(model, optimizer, 30)
    for group in optimizer.param_groups:
        group['lr'] = rate
    for _ in range(30):
        train_step(model, optimizer)


main()
truth.declare_no_leak()
