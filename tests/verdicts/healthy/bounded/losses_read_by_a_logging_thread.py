# SPDX-License-Identifier: MIT
"""Hands losses to a thread that reads them from a bounded queue and writes their values; it never has more than twenty."""
import queue
import threading

import torch
from torch import nn

import truth


class AsyncLogger(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.queue, self.lines = queue.Queue(maxsize=20), []
        self.start()

    def run(self):
        while (entry := self.queue.get()) is not None:
            step, loss = entry
            self.lines.append(f'{step}: {loss.item():.3f}')
            del entry, loss

    def close(self):
        self.queue.put(None)
        self.join()


def main():
    logger = AsyncLogger()
    model = nn.Linear(120, 12).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(60):
        loss = nn.functional.cross_entropy(model(torch.randn(24, 120).cuda()), torch.randint(12, (24,)).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.queue.put((step, loss.detach()))
        truth.end_of_step()
    logger.close()


main()
truth.declare_no_leak()
