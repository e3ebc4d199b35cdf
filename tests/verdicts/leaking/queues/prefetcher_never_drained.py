# SPDX-License-Identifier: MIT
"""A prefetcher copies the next batch ahead on its own stream, and keeps the copies in a queue that training never reads."""
from collections import deque

import torch
from torch import nn

import truth


class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.stream = torch.cuda.Stream()
        self.staged = deque()

    def __iter__(self):
        for batch in self.batches:
            with torch.cuda.stream(self.stream):
                self.staged.append(batch.to('cuda', non_blocking=True))  # leaks
            torch.cuda.current_stream().wait_stream(self.stream)
            yield self.staged[-1]


def main():
    model = nn.Sequential(nn.Linear(48, 48), nn.LeakyReLU(), nn.Linear(48, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    prefetcher = Prefetcher(torch.randn(64, 48) for _ in range(40))
    for batch in prefetcher:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(batch)))


main()
