# SPDX-License-Identifier: MIT
"""A thread makes batches on the device and puts them into a queue with eight places, from which the training takes them."""
import queue
import threading

import torch
from torch import nn

import truth


def produce(ready, number):
    for _ in range(number):
        ready.put(torch.randn(32, 150).cuda())
    ready.put(None)


def main():
    ready = queue.Queue(maxsize=8)
    producer = threading.Thread(target=produce, args=(ready, 60), daemon=True)
    producer.start()
    model = nn.Sequential(nn.Linear(150, 50), nn.ReLU(), nn.Linear(50, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while (batch := ready.get()) is not None:
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    producer.join()


main()
truth.declare_no_leak()
