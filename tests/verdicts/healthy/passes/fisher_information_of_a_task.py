# SPDX-License-Identifier: MIT
"""Sums squared gradients over a pass in place to weigh the parameters of an old task, and then trains with a penalty."""
import torch
from torch import nn

import truth


def fisher(model, batches):
    total = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    for batch in batches:
        model.zero_grad()
        model(batch.cuda()).log_softmax(1)[:, 0].mean().backward()
        for name, value in model.named_parameters():
            total[name] += value.grad.square()
        truth.end_of_step()
    return total


def main():
    model = nn.Sequential(nn.Linear(50, 70), nn.ReLU(), nn.Linear(70, 4)).cuda()
    weights = fisher(model, [torch.randn(30, 50) for _ in range(25)])
    anchor = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(30):
        loss = model(torch.randn(30, 50, device='cuda')).logsumexp(1).mean()
        loss = loss + sum((weights[name] * (value - anchor[name]).square()).sum() for name, value in model.named_parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
