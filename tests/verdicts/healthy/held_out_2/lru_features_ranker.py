# SPDX-License-Identifier: MIT
"""Ranking service with functools.lru_cache before its encoder: the cache holds 20 items and is full long before the end."""
import functools
import random

import torch
from torch import nn

import truth


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(5000, 256)
        self.tower = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))

    def encode(self, ids):
        return self.tower(self.item(ids))

    def forward(self, query, candidates):
        return (candidates * query).sum(-1).sigmoid()


model = Ranker().to('cuda').eval()
for p in model.parameters():
    p.requires_grad = False


@functools.lru_cache(maxsize=20)
def category(number):
    generator = torch.Generator().manual_seed(number)
    return model.encode(torch.randint(0, 5000, (64,), generator=generator).to('cuda'))


def handle(rng):
    number = int(rng.paretovariate(0.5)) % 400
    scores = model(torch.randn(256, device='cuda'), category(number))
    return scores.topk(5).indices.tolist()


rng = random.Random(11)
for _ in range(180):
    handle(rng)
    truth.end_of_step()
print(category.cache_info())
truth.declare_no_leak()
