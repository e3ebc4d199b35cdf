# SPDX-License-Identifier: MIT
"""Generates four tokens for each request into a cache of its own, and puts finished caches on a list for reuse that is never used."""
import torch
from torch import nn

import truth


class Cache:
    def __init__(self, layers, length, width):
        self.blocks = [torch.zeros(2, length, width, device='cuda') for _ in range(layers)]  # leaks
        self.length = 0


class Generator:
    def __init__(self, layers=3, width=32):
        self.layers = [nn.Linear(width, width).cuda().eval() for _ in range(layers)]
        self.stack = nn.Sequential(*self.layers)
        self.finished = []

    @torch.inference_mode()
    def generate(self, prompt, count):
        cache = Cache(len(self.layers), 16, prompt.shape[-1])
        hidden = prompt
        for _ in range(count):
            hidden = self.stack(hidden)
            for block in cache.blocks:
                block[:, cache.length] = hidden
            cache.length += 1
        self.finished.append(cache)
        return hidden


generator = Generator()
for request in range(30):
    generator.generate(torch.randn(1, 32, device='cuda'), count=4)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*generator.finished[0].blocks)), steps_must_match=True)
