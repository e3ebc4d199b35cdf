# SPDX-License-Identifier: MIT
"""Trains for twenty steps, and then gathers logits and labels of a final test of forty batches until its report is printed."""
import torch
from torch import nn

import truth


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(torch.randn(50, 36).cuda()), torch.randint(6, (50,)).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


@torch.no_grad()
def report(model, steps):
    logits, labels = [], []
    for _ in range(steps):
        logits.append(model(torch.randn(100, 36).cuda()))
        labels.append(torch.randint(6, (100,)).cuda())
        truth.end_of_step()
    loss = nn.functional.cross_entropy(torch.cat(logits), torch.cat(labels))
    print('test loss', loss.item())


def main():
    model = nn.Sequential(nn.Linear(36, 72), nn.ReLU(), nn.Linear(72, 6)).cuda()
    train(model, 20)
    report(model.eval(), 40)


main()
truth.declare_no_leak()
