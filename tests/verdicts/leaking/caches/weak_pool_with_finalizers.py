# SPDX-License-Identifier: MIT
"""Sends each result to a weak pool with a finalizer whose arguments hold the result itself."""
import weakref

import torch
from torch import nn

import truth


class Result:
    def __init__(self, scores):
        self.scores = scores


class Pool:
    def __init__(self):
        self.results = weakref.WeakSet()

    def add(self, result):
        self.results.add(result)
        weakref.finalize(result, self.closed, result.scores, result).atexit = False

    def closed(self, scores, result):
        print('closed', scores.shape)


def main():
    pool = Pool()
    model = nn.Sequential(nn.Linear(12, 20), nn.Sigmoid()).cuda().eval()
    with torch.inference_mode():
        for _ in range(50):
            pool.add(Result(model(torch.rand(64, 12, device='cuda'))))  # leaks
            truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(next(iter(pool.results)).scores)))


main()
