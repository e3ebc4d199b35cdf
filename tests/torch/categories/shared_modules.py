# SPDX-License-Identifier: MIT
"""Trains a model whose modules without parameters share each other: 41 modules, and 2^40 paths to the innermost."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        shared = torch.nn.ReLU()
        for _ in range(40):
            shared = torch.nn.Sequential(shared, shared)
        self.shared = shared
        self.layer = torch.nn.Linear(64, 64)

    def forward(self, values):
        return self.layer(values)


def main():
    model = Model()
    model.layer.cuda()
    optimizer = torch.optim.SGD(model.layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(8, 64, device='cuda')).sum().backward()
        optimizer.step()
    print('done')


main()
