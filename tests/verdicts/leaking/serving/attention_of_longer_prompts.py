# SPDX-License-Identifier: MIT
"""A chat service keeps the attention map of each turn, and each turn's prompt is longer than the one before."""
import torch
from torch import nn

import truth


class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query_key = nn.Linear(width, 2 * width)
        self.seen = []

    def forward(self, x):
        query, key = self.query_key(x).chunk(2, -1)
        weights = torch.softmax(query @ key.transpose(-2, -1), -1)  # leaks
        self.seen.append(weights)
        return weights @ x


@torch.no_grad()
def chat():
    attention = SelfAttention(16).cuda().eval()
    for turn in range(40):
        prompt = torch.randn(1, 16 + 4 * turn, 16, device='cuda')
        attention(prompt)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*attention.seen) / len(attention.seen), sizes='varying'))


chat()
