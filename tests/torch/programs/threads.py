# SPDX-License-Identifier: MIT
"""Several threads train and allocate at the same time: threads.py [REPORT]

One thread trains per stream. The others allocate and free blocks of many sizes. Some blocks cross
threads: one thread allocates them, and another thread frees them.
"""

import queue
import threading

import torch
from torch import nn

import common

TRAINERS, CHURNERS = 2, 2
STEPS, BLOCKS = 20, 2000


def train():
    with torch.cuda.stream(torch.cuda.Stream()):
        model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to('cuda')
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(STEPS):
            loss = model(torch.randn(64, 256, device='cuda')).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def churn(outgoing, incoming):
    kept = []
    for index in range(BLOCKS):
        block = torch.empty(1 + index * 977 % 300_000, dtype=torch.uint8, device='cuda')
        if index % 3 == 0:
            outgoing.put(block)
        elif index % 3 == 1:
            kept.append(block)
        if index % 50 == 0:
            kept.clear()
        try:
            incoming.get_nowait()
        except queue.Empty:
            pass


def main():
    mailboxes = [queue.Queue() for _ in range(CHURNERS)]
    threads = [threading.Thread(target=train, name=f'train {index}') for index in range(TRAINERS)]
    threads += [threading.Thread(target=churn, name=f'churn {index}',
                                 args=(mailboxes[index], mailboxes[(index + 1) % CHURNERS]))
                for index in range(CHURNERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    common.report(common.report_path())


if __name__ == '__main__':
    main()
