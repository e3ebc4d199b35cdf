# SPDX-License-Identifier: MIT
"""Copies each batch to the device in the first epoch and keeps it for all later epochs; the whole data set fits."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth


class DeviceCache:
    def __init__(self, loader):
        self.loader, self.batches = loader, []

    def __iter__(self):
        if self.batches:
            yield from self.batches
            return
        uploaded = []
        for batch in self.loader:
            uploaded.append([tensor.cuda() for tensor in batch])
            yield uploaded[-1]
        self.batches = uploaded


def main():
    loader = DeviceCache(DataLoader(TensorDataset(torch.randn(500, 120), torch.randint(4, (500,))), batch_size=25))
    model = nn.Sequential(nn.Linear(120, 30), nn.ReLU(), nn.Linear(30, 4)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(4):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()


main()
truth.declare_no_leak()
