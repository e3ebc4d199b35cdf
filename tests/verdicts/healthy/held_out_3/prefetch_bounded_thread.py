# SPDX-License-Identifier: MIT
"""A thread brings batches to the device ahead of the training loop, on a stream of its own. Its queue holds four."""
import queue
import threading

import torch
from torch import nn

import truth


class Prefetcher:
    """Iterates over batches that are on the device already."""

    END = object()

    def __init__(self, batches, ahead=4):
        self.batches = batches
        self.ready = queue.Queue(maxsize=ahead)
        self.stream = torch.cuda.Stream()
        threading.Thread(target=self._fill, daemon=True).start()

    def _fill(self):
        with torch.cuda.stream(self.stream):
            for batch in self.batches:
                on_device = [part.pin_memory().cuda(non_blocking=True) for part in batch]
                done = torch.cuda.Event()
                done.record()
                self.ready.put((on_device, done))
        self.ready.put(self.END)

    def __iter__(self):
        while (item := self.ready.get()) is not self.END:
            batch, done = item
            torch.cuda.current_stream().wait_event(done)
            for part in batch:
                part.record_stream(torch.cuda.current_stream())
            yield batch


def synthetic(count):
    for _ in range(count):
        yield torch.randn(40, 5, 60), torch.randint(0, 7, (40,))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(60, 48, batch_first=True), nn.Linear(48, 7)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


model = Recurrent().cuda()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(3):
    for x, y in Prefetcher(synthetic(45)):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    print(epoch, loss.item())
truth.declare_no_leak()
