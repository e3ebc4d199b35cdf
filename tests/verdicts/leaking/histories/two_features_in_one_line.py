# SPDX-License-Identifier: MIT
"""Keeps means and deviations of each batch's features, which one line computes by two helpers."""
import torch
from torch import nn

import truth


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(50, 400), nn.ReLU())
        self.head = nn.Linear(400, 2)
        self.statistics = []

    def forward(self, x):
        features = self.body(x)
        self.statistics.append((torch.mean(features.detach(), 0), torch.std(features.detach(), 0)))  # leaks
        return self.head(features)


def main():
    model = Extractor().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(32):
        loss = model(torch.randn(64, 50, device='cuda')).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*model.statistics[0])))


main()
