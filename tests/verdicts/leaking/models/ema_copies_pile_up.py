# SPDX-License-Identifier: MIT
"""Makes a new dictionary of averaged weights in each step and appends it instead of replacing the last one."""
import torch
from torch import nn

import truth

DECAY = 0.99


def main():
    model = nn.Sequential(nn.Linear(28, 100), nn.ReLU(), nn.Linear(100, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    averages = [{name: value.detach().clone() for name, value in model.named_parameters()}]
    for _ in range(30):
        loss = model(torch.randn(64, 28, device='cuda')).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = averages[-1]
        averages.append({name: last[name].lerp(value.detach(), 1 - DECAY) for name, value in model.named_parameters()})  # leaks
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*model.parameters())))


main()
