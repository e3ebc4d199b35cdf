# SPDX-License-Identifier: MIT
"""Prefix cache of a language model, 16 prompts. A prompt that was asked twice goes to a second tier when it is evicted; that tier has no end."""
from collections import OrderedDict
from dataclasses import dataclass

import torch
from torch import nn

import truth


@dataclass
class Entry:
    keys_values: torch.Tensor
    hits: int = 0


class PrefixCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.hot = OrderedDict()
        self.warm = {}

    def get(self, prompt):
        entry = self.hot.get(prompt)
        if entry is not None:
            entry.hits += 1
            self.hot.move_to_end(prompt)
        return entry

    def put(self, prompt, keys_values):
        self.hot[prompt] = Entry(keys_values)
        while len(self.hot) > self.capacity:
            victim, entry = self.hot.popitem(last=False)
            if entry.hits:
                self.warm[victim] = entry


class Prefill(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.kv = nn.Linear(width, 2 * width)

    def forward(self, tokens):
        return self.kv(self.embed(tokens))  # leaks


model = Prefill().cuda().eval()
cache = PrefixCache(16)


def answer(prompt):
    entry = cache.get(prompt)
    if entry is None:
        with torch.inference_mode():
            cache.put(prompt, model(torch.randint(0, 1000, (1, 40)).cuda()))
        entry = cache.hot[prompt]
    return entry.keys_values.sum().item()


for request in range(240):
    answer(f'prompt {request}')
    if request % 4 == 3:
        answer(f'prompt {request}')     # "regenerate"
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(next(iter(cache.warm.values())).keys_values) / 4))
