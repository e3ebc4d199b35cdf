# SPDX-License-Identifier: MIT
"""A prefetcher that loads three batches for every two that training takes."""
import collections

import torch
import torch.nn as nn

import truth


class Prefetcher:
    def __init__(self, shape):
        self.shape = shape
        self.ready = collections.deque()

    def load(self):
        self.ready.append(torch.randn(self.shape).to('cuda', non_blocking=True))  # leaks

    def next(self):
        return self.ready.popleft()


def main():
    model = nn.Sequential(nn.Linear(100, 50), nn.Tanh(), nn.Linear(50, 100)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    prefetcher = Prefetcher((48, 100))
    for step in range(100):
        prefetcher.load()
        if step % 2 == 0:
            prefetcher.load()
        batch = prefetcher.next()
        loss = ((model(batch) - batch) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(batch) / 2))


if __name__ == '__main__':
    main()
