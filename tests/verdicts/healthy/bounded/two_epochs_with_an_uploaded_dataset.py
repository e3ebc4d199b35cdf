# SPDX-License-Identifier: MIT
"""Uploads each sample at its first use and keeps it by its index, so that the second of two epochs copies nothing."""
import torch
from torch import nn

import truth


class OnDevice(torch.utils.data.Dataset):
    def __init__(self, data):
        self.data, self.uploaded = data, {}

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        if index not in self.uploaded:
            self.uploaded[index] = self.data[index].cuda()
        return self.uploaded[index]


def main():
    loader = torch.utils.data.DataLoader(OnDevice(torch.randn(280, 100)), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(100, 10), nn.ReLU(), nn.Linear(10, 100)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for batch in loader:
            loss = nn.functional.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()


main()
truth.declare_no_leak()
