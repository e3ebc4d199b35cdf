# SPDX-License-Identifier: MIT
"""Keeps the keys and values of each conversation, also when it is over."""
import torch
from torch import nn

import truth


class Decoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(1000, width)
        self.projection = nn.Linear(width, 3 * width)

    def forward(self, tokens):
        query, key, value = self.projection(self.embedding(tokens)).chunk(3, -1)  # leaks
        return nn.functional.softmax(query @ key.transpose(1, 2), -1) @ value, (key, value)


@torch.no_grad()
def main():
    model = Decoder().cuda().eval()
    caches = {}
    for conversation in range(50):
        prompt = torch.randint(1000, (1, 64), device='cuda')
        answer, caches[conversation] = model(prompt)
        truth.end_of_step()
    key, value = caches[0]
    assert key.untyped_storage().data_ptr() == value.untyped_storage().data_ptr()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(key)))


main()
