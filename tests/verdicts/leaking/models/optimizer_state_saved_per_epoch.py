# SPDX-License-Identifier: MIT
"""Saves the state of model and optimizer after each of four epochs by deepcopy, for an ensemble of snapshots."""
import copy

import torch
from torch import nn

import truth

EPOCHS, STEPS = 4, 10


def main():
    model = nn.LSTM(12, 24).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    snapshots = []
    for epoch in range(EPOCHS):
        for _ in range(STEPS):
            out, _ = model(torch.randn(6, 10, 12, device='cuda'))
            optimizer.zero_grad()
            out.square().mean().backward()
            optimizer.step()
            truth.end_of_step()
        scheduler.step()
        weights = copy.deepcopy(model.state_dict())  # leaks weights
        moments = copy.deepcopy(optimizer.state_dict())  # leaks moments
        snapshots.append((weights, moments))
    size = truth.size_of(*weights.values()) / STEPS
    kept = [value for state in moments['state'].values() for value in state.values() if value.is_cuda]
    truth.declare_leaks(truth.leak('# leaks weights', size), truth.leak('# leaks moments', truth.size_of(*kept) / STEPS))


main()
