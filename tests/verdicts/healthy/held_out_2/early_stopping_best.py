# SPDX-License-Identifier: MIT
"""Keeps a copy of the best weights, replaced whenever the validation improves, and which it loads at the end."""
import copy
import random

import torch
import torch.nn as nn
import truth


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.bad, self.best, self.state = patience, 0, float('inf'), None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.bad = value, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def main():
    random.seed(42)
    model = nn.Sequential(nn.BatchNorm1d(25), nn.Linear(25, 150), nn.ELU(), nn.Linear(150, 1)).cuda()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    stopping = EarlyStopping(patience=6)
    data, price = torch.randn(512, 25, device='cuda'), torch.randn(512, 1, device='cuda')
    for epoch in range(16):
        model.train()
        for rows in torch.randperm(512).view(8, 64):
            rows = rows.cuda()
            optimizer.zero_grad()
            nn.functional.l1_loss(model(data[rows]), price[rows]).backward()
            optimizer.step()
            truth.end_of_step()
        model.eval()
        with torch.no_grad():
            mae = (model(data) - price).abs().mean().item() % 1.0 + 1 / (epoch + 1) + 0.1 * random.random()
        if stopping(mae, model):
            break
    model.load_state_dict(stopping.state)
    truth.declare_no_leak()


main()
