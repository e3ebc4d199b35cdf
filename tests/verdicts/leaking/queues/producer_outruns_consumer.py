# SPDX-License-Identifier: MIT
"""A loader thread puts two batches into the queue for each one that training takes out."""
import queue
import threading

import torch
from torch import nn

import truth

batches = queue.Queue()
wanted = threading.Semaphore(0)
loaded = threading.Semaphore(0)


def loader():
    while True:
        wanted.acquire()
        for _ in range(2):
            host = torch.randn(32, 128)
            batches.put(host.to('cuda'))  # leaks
        loaded.release()


def main():
    threading.Thread(target=loader, daemon=True).start()
    model = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(50):
        wanted.release()
        loaded.acquire()
        batch = batches.get()
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(batch)))


main()
