# SPDX-License-Identifier: MIT
"""Trains with Adam, then with SGD: no_leak_two_classes.py [STEPS]"""

import torch
from torch import nn

import common


def main():
    steps = common.no_leak_steps(50)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')

    def train(optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            model(torch.randn(32, 64, device='cuda')).square().mean().backward()
            optimizer.step()

    train(torch.optim.Adam(model.parameters()), steps - steps // 3)
    train(torch.optim.SGD(model.parameters(), lr=0.1), steps // 3)
    common.report([], optimizer_steps=steps)


if __name__ == '__main__':
    main()
