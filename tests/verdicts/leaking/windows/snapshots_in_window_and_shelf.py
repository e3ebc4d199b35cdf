# SPDX-License-Identifier: MIT
"""Snapshots of the weights go into a window of five for rollback; the last of every ten goes on a shelf too."""
import torch
from torch import nn

import truth


class Rollback:
    def __init__(self, model, length):
        self.model, self.length = model, length
        self.window, self.shelf = [], {}

    def snapshot(self, step):
        self.window.append({k: v.clone() for k, v in self.model.state_dict().items()})  # leaks
        del self.window[:-self.length]
        if step % 10 == 9:
            self.shelf[step] = self.window[-1]


def main():
    model = nn.Sequential(nn.Linear(24, 60), nn.ReLU(), nn.Linear(60, 24)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    rollback = Rollback(model, 5)
    for step in range(100):
        x = torch.randn(32, 24, device='cuda')
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()
        rollback.snapshot(step)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*rollback.window[-1].values()) / 10))


main()
