# SPDX-License-Identifier: MIT
"""Freezes layer after layer during the training and drops their gradients, so that it needs less and less memory."""
import torch
from torch import nn

import truth


def freeze(module, optimizer):
    for parameter in module.parameters():
        parameter.requires_grad_(False)
        parameter.grad = None
        optimizer.state.pop(parameter, None)


def main():
    model = nn.Sequential(*(nn.Linear(100, 100) for _ in range(5)), nn.Linear(100, 4)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(60):
        if step in (15, 25, 35, 45):
            freeze(model[step // 10 - 1], optimizer)
        loss = model(torch.randn(30, 100, device='cuda')).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
