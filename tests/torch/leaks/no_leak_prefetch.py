# SPDX-License-Identifier: MIT
"""Trains from a loader with workers, pinned memory and a batch on its way: no_leak_prefetch.py [STEPS]"""

import torch
from torch import nn
from torch.utils import data

import common

BATCH, WIDTH = 32, 1000


class Numbers(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((WIDTH,), float(index)), index % 10


def prefetched(loader):
    """Yields the loader's batches on the device. Copies each batch while the previous batch is in use."""
    ahead = None
    for inputs, labels in loader:
        upcoming = inputs.to('cuda', non_blocking=True), labels.to('cuda', non_blocking=True)
        if ahead is not None:
            yield ahead
        ahead = upcoming
    yield ahead


def main():
    steps = common.no_leak_steps()
    loader = data.DataLoader(Numbers(steps * BATCH), batch_size=BATCH, num_workers=2, pin_memory=True)
    model = nn.Linear(WIDTH, 10).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    allocated = []
    for inputs, labels in prefetched(loader):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated)


if __name__ == '__main__':
    main()
