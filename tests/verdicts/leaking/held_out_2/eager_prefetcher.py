# SPDX-License-Identifier: MIT
"""The prefetcher puts three batches on the device for each two that the training takes."""
import collections
import torch
import truth


class Prefetcher:
    """Keeps the pipeline 'always ahead'."""

    def __init__(self, source, ahead=3):
        self.source = iter(source)
        self.ahead = ahead
        self.ready = collections.deque()

    def fill(self):
        for _ in range(self.ahead):
            item = next(self.source, None)
            if item is not None:
                self.ready.append(item.to('cuda', non_blocking=True))  # leaks

    def __iter__(self):
        while True:
            self.fill()
            if not self.ready:
                return
            yield self.ready.popleft()
            yield self.ready.popleft()


def recordings(count):
    for _ in range(count):
        yield torch.randn(8, 640)


def main():
    vocoder = torch.nn.Sequential(torch.nn.Linear(640, 96), torch.nn.PReLU(), torch.nn.Linear(96, 640)).cuda()
    adam = torch.optim.Adam(vocoder.parameters(), lr=1e-4)
    prefetcher = Prefetcher(recordings(1000))
    for number, audio in enumerate(prefetcher):
        adam.zero_grad()
        loss = (vocoder(audio) - audio).abs().mean()
        loss.backward()
        adam.step()
        truth.end_of_step()
        if number == 119:   # one pass is 120 updates
            break
    print(len(prefetcher.ready), 'batches are ready')
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(audio) / 2))


main()
