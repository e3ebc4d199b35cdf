# SPDX-License-Identifier: MIT
"""Finds each point's nearest neighbour in every step: distances.py [broadcast|cdist]"""
import sys

import torch

POINTS, FEATURES, STEPS = 1024, 16, 8


def nearest_by_broadcast(points):
    difference = points[:, None, :] - points[None, :, :]  # POINTS x POINTS x FEATURES
    return difference.square().sum(dim=2).sqrt().amin(dim=1)


def nearest_by_cdist(points):
    return torch.cdist(points, points).amin(dim=1)  # POINTS x POINTS


def main():
    nearest = nearest_by_cdist if sys.argv[1:] == ['cdist'] else nearest_by_broadcast
    model = torch.nn.Linear(FEATURES, FEATURES).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    points = torch.randn(POINTS, FEATURES, device='cuda')
    for _ in range(STEPS):
        optimizer.zero_grad()
        nearest(model(points)).mean().backward()
        optimizer.step()


if __name__ == '__main__':
    main()
