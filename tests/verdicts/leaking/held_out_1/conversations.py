# SPDX-License-Identifier: MIT
"""Answers conversations with a cache of keys and values for each, and never drops a cache."""
import torch
import torch.nn.functional as F
from torch import nn

import truth

TOKENS = 12


class Decoder(nn.Module):
    def __init__(self, vocabulary=300, width=512):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, vocabulary)
        self.cache = {}

    def forward(self, token, conversation):
        x = self.embed(token)
        keys, values = self.cache.get(conversation, (x[:, :0], x[:, :0]))
        keys = torch.cat([keys, self.k(x)], dim=1)  # keys leak
        values = torch.cat([values, self.v(x)], dim=1)  # values leak
        self.cache[conversation] = keys, values
        return self.out(F.scaled_dot_product_attention(self.q(x), keys, values))


decoder = Decoder().cuda().eval()
with torch.no_grad():
    for conversation in range(11):
        token = torch.zeros(2, 1, dtype=torch.long, device='cuda')
        for _ in range(TOKENS):
            logits = decoder(token, conversation)
            token = logits[:, -1].argmax(-1, keepdim=True)
            truth.end_of_step()
keys, values = decoder.cache[0]
truth.declare_leaks(truth.leak('# keys leak', truth.size_of(keys) / TOKENS), truth.leak('# values leak', truth.size_of(values) / TOKENS))
