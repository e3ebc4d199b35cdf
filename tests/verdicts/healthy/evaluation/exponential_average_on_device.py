# SPDX-License-Identifier: MIT
"""Keeps exponential averages of loss and gradient norm on the device, each replaced by a new tensor in each step."""
import torch
from torch import nn

import truth


def main(decay=0.9):
    model = nn.Sequential(nn.Linear(30, 30), nn.ELU(), nn.Linear(30, 2)).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    averages = {}
    for step in range(60):
        loss = model(torch.randn(10, 30, device='cuda')).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        for name, value in (('loss', loss.detach()), ('norm', norm)):
            averages[name] = value if name not in averages else decay * averages[name] + (1 - decay) * value
        if step % 10 == 9:
            print({name: value.item() for name, value in averages.items()})
        truth.end_of_step()


main()
truth.declare_no_leak()
