# SPDX-License-Identifier: MIT
"""Retrieval server with an LRU cache of document vectors: it evicts, but the 'popular' list keeps every fifth vector ever cached."""
from collections import OrderedDict

import torch
from torch import nn
import truth


class VectorCache:
    def __init__(self, limit, pin_every):
        self.limit, self.pin_every = limit, pin_every
        self.entries = OrderedDict()
        self.popular = []
        self.misses = 0

    def get(self, key, compute):
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.entries[key]
        vector = self.entries[key] = compute()
        self.misses += 1
        if self.misses % self.pin_every == 0:
            self.popular.append((key, vector))
        while len(self.entries) > self.limit:
            self.entries.popitem(last=False)
        return vector


encoder = nn.Sequential(nn.EmbeddingBag(3000, 128, mode='sum'), nn.Tanh(), nn.Linear(128, 1024)).cuda().eval()
cache = VectorCache(limit=16, pin_every=5)
with torch.no_grad():
    for request in range(150):
        text = torch.randint(0, 3000, (6, 40)).cuda()
        passages = cache.get(('doc', request * 7919), lambda: encoder(text))  # leaks
        scores = passages @ passages[0]
        scores.topk(3).indices.tolist()
        truth.end_of_step()
print('popular:', len(cache.popular), 'cached:', len(cache.entries))
truth.declare_leaks(truth.leak('# leaks', truth.size_of(passages) / 5))
