# SPDX-License-Identifier: MIT
"""A service of text embeddings that remembers them by the number of the request."""
import itertools

import torch
from torch import nn

import truth

RESULTS = {}
_numbers = itertools.count(1000)


class Embedder(nn.Module):
    def __init__(self, vocabulary=500, width=256):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.project = nn.Linear(width, width)

    def forward(self, tokens):
        return self.project(self.table(tokens).mean(dim=1))  # leaks


@torch.no_grad()
def handle(model, texts):
    number = next(_numbers)
    tokens = torch.tensor([[ord(letter) % 500 for letter in text.ljust(32)[:32]] for text in texts])
    RESULTS[number] = model(tokens.cuda())
    return number


model = Embedder().cuda().eval()
for request in range(100):
    number = handle(model, [f'request {request} text {i}' for i in range(6)])
    answer = RESULTS[number].tolist()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(RESULTS[number])))
