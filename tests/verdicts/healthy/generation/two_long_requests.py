# SPDX-License-Identifier: MIT
"""Answers two requests of equal length with lists of keys and values per token, and clears the lists between them."""
import torch
from torch import nn

import truth


class Memory:
    def __init__(self):
        self.keys, self.values = [], []

    def add(self, key, value):
        self.keys.append(key)
        self.values.append(value)

    def read(self, query):
        return torch.softmax(query @ torch.cat(self.keys).T, -1) @ torch.cat(self.values)

    def clear(self):
        self.keys.clear()
        self.values.clear()


model = nn.ModuleDict({name: nn.Linear(128, 128) for name in ('query', 'key', 'value')}).cuda()
memory = Memory()
with torch.no_grad():
    for request in range(2):
        x = torch.randn(1, 128, device='cuda')
        for _ in range(35):
            memory.add(model['key'](x), model['value'](x))
            x = x + memory.read(model['query'](x))
            truth.end_of_step()
        memory.clear()
truth.declare_no_leak()
