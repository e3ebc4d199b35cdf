# SPDX-License-Identifier: MIT
"""A network that grows by a column each three steps and freezes the ones before."""
import torch
from torch import nn

import truth


class Progressive(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.columns = nn.ModuleList()

    def grow(self):
        self.columns.requires_grad_(False)
        for parameter in self.columns.parameters():
            parameter.grad = None
        self.columns.append(nn.Linear(self.width, self.width, device='cuda'))  # leaks

    def forward(self, x):
        for column in self.columns:
            x = column(x).relu()
        return x


def main():
    net = Progressive(48)
    for step in range(45):
        if step % 3 == 0:
            net.grow()
            optimizer = torch.optim.SGD(net.columns[-1].parameters(), lr=0.01)
        loss = net(torch.rand(12, 48, device='cuda')).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*net.columns[0].parameters()) / 3))


main()
