# SPDX-License-Identifier: MIT
"""An LRU cache of prompts' encodings; each third one is also remembered as a favourite, and outlives its eviction."""
from collections import OrderedDict

import torch
from torch import nn

import truth


class EncodingCache:
    def __init__(self, encoder, capacity):
        self.encoder, self.capacity = encoder, capacity
        self.entries = OrderedDict()
        self.favourites = set()

    def get(self, key, tokens):
        if key not in self.entries:
            self.entries[key] = self.encoder(tokens).mean(1)  # leaks
            if len(self.entries) > self.capacity:
                self.entries.popitem(last=False)
        self.entries.move_to_end(key)
        if key % 3 == 0:
            self.favourites.add(self.entries[key])
        return self.entries[key]


@torch.inference_mode()
def serve():
    encoder = nn.Sequential(nn.Embedding(1000, 64), nn.Linear(64, 256), nn.GELU()).to('cuda').eval()
    cache = EncodingCache(encoder, capacity=10)
    for request in range(60):
        tokens = torch.randint(1000, (4, 20), device='cuda')
        cache.get(request, tokens)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*cache.favourites) / 60))


serve()
