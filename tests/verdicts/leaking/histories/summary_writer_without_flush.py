# SPDX-License-Identifier: MIT
"""A writer of scalars and histograms buffers its events as tensors, and the flush never comes."""
import time

import torch
from torch import nn

import truth


class SummaryWriter:
    def __init__(self, flush_every):
        self.events, self.flush_every = [], flush_every

    def add_scalar(self, tag, value, step):
        self.events.append((time.time(), tag, step, value))

    def add_histogram(self, tag, values, step, bins=64):
        self.events.append((time.time(), tag, step, torch.bucketize(values, self.edges(bins, values.device))))  # leaks histogram

    def edges(self, bins, device):
        return torch.linspace(-1, 1, bins, device=device)

    def flush(self):
        self.events.clear()


def main():
    writer = SummaryWriter(flush_every=100_000)
    model = nn.Linear(100, 20).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        loss = model(torch.randn(50, 100, device='cuda')).abs().mean()  # leaks scalar
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar('loss', loss.detach(), step)
        writer.add_histogram('weight', model.weight.detach(), step)
        if len(writer.events) > writer.flush_every:
            writer.flush()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks scalar', truth.size_of(loss)),
                        truth.leak('# leaks histogram', truth.size_of(writer.events[-1][3])))


main()
