# SPDX-License-Identifier: MIT
"""Evicts features from a cache of fixed size, but the nearest-neighbour index still refers to all of them."""
import torch
from torch import nn

import truth

CAPACITY = 12
backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()).cuda()
classifier = nn.Linear(128, 7).cuda()
optimizer = torch.optim.SGD([*backbone.parameters(), *classifier.parameters()], lr=0.1)
cache, index = {}, []


def features(name, image):
    if name not in cache:
        if len(cache) >= CAPACITY:
            del cache[next(iter(cache))]
        found = backbone(image).detach()  # leaks
        cache[name] = found
        index.append((name, found))
    return cache[name]


for number in range(40):
    image = torch.rand(6, 3, 20, 20, device='cuda')
    logits = classifier(features(f'image{number}', image))
    loss = nn.functional.cross_entropy(logits, torch.randint(7, (6,), device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', truth.size_of(index[-1][1])))
