# SPDX-License-Identifier: MIT
"""Uses a cache of weak values. A list of statistics also holds the values, so the cache never drops them."""
import weakref

import torch
from torch import nn

import truth


class Features:
    def __init__(self, tensor):
        self.tensor = tensor


cache = weakref.WeakValueDictionary()
statistics = []
extractor = nn.Sequential(nn.Linear(40, 80), nn.ReLU()).cuda().requires_grad_(False)
head = nn.Linear(80, 3).cuda()
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)


def features_of(name):
    found = cache.get(name)
    if found is None:
        found = cache[name] = Features(extractor(torch.randn(16, 40, device='cuda')))  # leaks
        statistics.append(found)
    return found.tensor


for step in range(40):
    loss = head(features_of(f'clip{step}')).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(cache['clip0'].tensor)))
