# SPDX-License-Identifier: MIT
"""Computes distances with a broadcast, whose intermediate result is far larger than its input and output."""

import torch

import common

POINTS = 1024
STEPS = 4


def distances(points):
    difference = points[:, None, :] - points[None, :, :]  # POINTS * POINTS * 16
    return difference.abs().sum(dim=2).amin()


if __name__ == '__main__':
    model = torch.nn.Linear(16, 16).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.ones(POINTS, 16, device='cuda')
    kept = []
    for _ in range(STEPS):
        model(data).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            kept.append(distances(data))
    common.report()
