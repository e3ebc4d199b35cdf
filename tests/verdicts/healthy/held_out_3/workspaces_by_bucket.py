# SPDX-License-Identifier: MIT
"""Inference that pads batches to a power of two. Each size has one static input and output, as CUDA graphs need. All are made early."""
import random

import torch
from torch import nn

import truth

random.seed(2)


class StaticRunner:
    """Copies a batch into the buffers of its bucket: the next power of two."""

    def __init__(self, model, features, classes, largest=64):
        self.model, self.features, self.classes, self.largest = model, features, classes, largest
        self.buffers = {}

    def bucket(self, size):
        bucket = 1
        while bucket < size:
            bucket *= 2
        return min(bucket, self.largest)

    def buffers_for(self, bucket):
        if bucket not in self.buffers:
            self.buffers[bucket] = (torch.zeros(bucket, self.features, device='cuda'), torch.empty(bucket, self.classes, device='cuda'))
        return self.buffers[bucket]

    @torch.inference_mode()
    def __call__(self, batch):
        inputs, outputs = self.buffers_for(self.bucket(len(batch)))
        inputs[:len(batch)].copy_(batch, non_blocking=True)
        outputs.copy_(self.model(inputs))
        return outputs[:len(batch)].cpu()


model = nn.Sequential(nn.Linear(300, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 40)).cuda().eval()
run = StaticRunner(model, 300, 40)
answered = 0
for _ in range(180):
    batch_size = min(64, max(1, int(random.expovariate(1 / 14))))
    answered += len(run(torch.randn(batch_size, 300)))
    truth.end_of_step()
print(answered, 'answers,', sorted(run.buffers))
truth.declare_no_leak()
