# SPDX-License-Identifier: MIT
"""Copies the best weights to the CPU, stops when the score has not improved for long, and loads them back in place."""
import torch
from torch import nn

import truth


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.waited, self.weights = patience, float('inf'), 0, None

    def should_stop(self, loss, model):
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}
        else:
            self.waited += 1
        return self.waited >= self.patience


def validation_loss(model, epoch):
    with torch.no_grad():
        model(torch.randn(100, 45, device='cuda'))
    return 1 / (epoch + 1) if epoch < 25 else 0.05


def main():
    model = nn.Sequential(nn.Linear(45, 200), nn.ReLU(), nn.Linear(200, 1)).cuda()
    optimizer, stopping = torch.optim.Adamax(model.parameters()), EarlyStopping(patience=5)
    for epoch in range(60):
        optimizer.zero_grad()
        model(torch.randn(100, 45, device='cuda')).square().mean().backward()
        optimizer.step()
        truth.end_of_step()
        if stopping.should_stop(validation_loss(model, epoch), model):
            break
    model.load_state_dict(stopping.weights)


main()
truth.declare_no_leak()
