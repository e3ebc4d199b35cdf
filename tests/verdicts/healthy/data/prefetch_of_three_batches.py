# SPDX-License-Identifier: MIT
"""Copies the next three batches to the device before they are needed; each is dropped after its step."""
from collections import deque
from itertools import islice

import torch
from torch import nn

import truth


def prefetch(batches, ahead):
    batches, ready = iter(batches), deque()
    ready.extend(batch.to('cuda', non_blocking=True) for batch in islice(batches, ahead))
    while ready:
        yield ready.popleft()
        ready.extend(batch.to('cuda', non_blocking=True) for batch in islice(batches, 1))


model = nn.Sequential(nn.Linear(300, 60), nn.ReLU(), nn.Linear(60, 2)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for batch in prefetch((torch.randn(40, 300) for _ in range(50)), ahead=3):
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
