# SPDX-License-Identifier: MIT
"""Allocates all pages of the cache at the start; conversations only take numbers of pages and give them back."""
import torch
from torch import nn

import truth


class PagePool:
    def __init__(self, pages, page_size, width):
        self.memory = torch.zeros(pages, page_size, width, device='cuda')
        self.free = list(range(pages))
        self.page_size = page_size

    def take(self):
        return self.free.pop()

    def give_back(self, pages):
        self.free.extend(pages)


pool = PagePool(64, 8, 96)
project = nn.Linear(96, 96).cuda()
token = torch.randn(1, 96, device='cuda')
for length in (40, 12, 25):
    table = []
    for position in range(length):
        if position % pool.page_size == 0:
            table.append(pool.take())
        with torch.no_grad():
            pool.memory[table[-1], position % pool.page_size] = project(token)[0]
            past = pool.memory[torch.tensor(table, device='cuda')].flatten(0, 1)[:position + 1]
            token = torch.softmax(token @ past.T, -1) @ past
        truth.end_of_step()
    pool.give_back(table)
truth.declare_no_leak()
