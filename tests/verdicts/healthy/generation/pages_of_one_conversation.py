# SPDX-License-Identifier: MIT
"""Allocates a page of the key cache for every eight tokens of one conversation, and releases all pages at its end."""
import torch
from torch import nn

import truth


class PagedKeys:
    def __init__(self, page, width):
        self.page, self.width, self.pages, self.length = page, width, [], 0

    def write(self, row):
        if self.length == len(self.pages) * self.page:
            self.pages.append(torch.zeros(self.page, self.width, device='cuda'))
        self.pages[self.length // self.page][self.length % self.page] = row
        self.length += 1

    def release(self):
        self.pages.clear()
        self.length = 0


keys = PagedKeys(8, 160)
project = nn.Linear(160, 160).cuda()
with torch.no_grad():
    x = torch.randn(160, device='cuda')
    for token in range(72):
        keys.write(project(x))
        rows = torch.cat(keys.pages)[:keys.length]
        x = torch.softmax(rows @ x, 0) @ rows
        truth.end_of_step()
keys.release()
del rows
truth.declare_no_leak()
