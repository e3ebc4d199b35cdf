# SPDX-License-Identifier: MIT
"""Copies the next batch on a stream of its own while the current one is trained on, and holds no more than two."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth


class Prefetcher:
    def __init__(self, loader):
        self.loader, self.stream = iter(loader), torch.cuda.Stream()
        self.preload()

    def preload(self):
        batch = next(self.loader, None)
        with torch.cuda.stream(self.stream):
            self.following = batch and [tensor.cuda(non_blocking=True) for tensor in batch]

    def __iter__(self):
        while self.following:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.following
            for tensor in batch:
                tensor.record_stream(torch.cuda.current_stream())
            self.preload()
            yield batch


def main():
    dataset = TensorDataset(torch.randn(640, 90), torch.randint(5, (640,)))
    model = nn.Linear(90, 5).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for inputs, labels in Prefetcher(DataLoader(dataset, batch_size=32, shuffle=True, pin_memory=True)):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()


main()
truth.declare_no_leak()
