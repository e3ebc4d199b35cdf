# SPDX-License-Identifier: MIT
"""Rebuilds its table of rotary angles with twice the length when a sequence is longer than all before."""
import random

import torch
from torch import nn

import truth


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer('rates', 1 / 10000 ** (torch.arange(0, width, 2) / width), persistent=False)
        self.cosine = self.sine = None

    def grow(self, length):
        angles = torch.outer(torch.arange(length, device=self.rates.device).float(), self.rates)
        self.cosine, self.sine = angles.cos(), angles.sin()

    def forward(self, x):
        length = x.shape[-2]
        if self.cosine is None or len(self.cosine) < length:
            self.grow(2 * length)
        even, odd = x.chunk(2, -1)
        cosine, sine = self.cosine[:length], self.sine[:length]
        return torch.cat([even * cosine - odd * sine, even * sine + odd * cosine], -1)


def main():
    random.seed(1)
    rotary, mix = Rotary(64).cuda(), nn.Linear(64, 64).cuda()
    optimizer = torch.optim.AdamW(mix.parameters())
    for step in range(50):
        tokens = torch.randn(2, random.randint(4, 16 + 2 * step), 64, device='cuda')
        loss = rotary(mix(tokens)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
