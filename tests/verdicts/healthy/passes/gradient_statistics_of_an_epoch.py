# SPDX-License-Identifier: MIT
"""Collects the gradient norms of an epoch on the device, writes their quantiles at its end, and begins again."""
import torch
from torch import nn

import truth


def main():
    model = nn.Sequential(nn.Linear(60, 60), nn.ReLU(), nn.Linear(60, 5)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        norms = []
        for _ in range(35):
            loss = nn.functional.cross_entropy(model(torch.randn(20, 60).cuda()), torch.randint(5, (20,)).cuda())
            optimizer.zero_grad()
            loss.backward()
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 5.0))
            optimizer.step()
            truth.end_of_step()
        print(epoch, torch.stack(norms).mean().item(), torch.stack(norms).max().item())


main()
truth.declare_no_leak()
