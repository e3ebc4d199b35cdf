# SPDX-License-Identifier: MIT
"""Service that switches the garbage collector off for its latency. Each request refers to itself by its callback, so no request is ever freed."""
import gc

import torch
from torch import nn

import truth


class Job:
    def __init__(self, number, frames):
        self.number = number
        self.frames = frames
        self.features = None
        self.on_done = self.report

    def report(self):
        return self.number, tuple(self.features.shape)


class Worker:
    def __init__(self):
        self.net = nn.Sequential(nn.Conv1d(8, 24, 5, padding=2), nn.ReLU(), nn.Conv1d(24, 16, 5, padding=2)).cuda().eval()

    def process(self, job):
        with torch.inference_mode():
            job.features = self.net(job.frames.cuda())  # leaks
        return job.on_done()


gc.collect()
gc.disable()
worker = Worker()
done = []
for number in range(110):
    done.append(worker.process(Job(number, torch.randn(1, 8, 128))))
    truth.end_of_step()
print(done[-1])
truth.declare_leaks(truth.leak('# leaks', 16 * 128 * 4))
