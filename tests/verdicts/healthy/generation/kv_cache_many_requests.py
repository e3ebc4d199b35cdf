# SPDX-License-Identifier: MIT
"""Serves requests of different lengths, each with a cache of its own that is garbage when the answer is returned."""
import random

import torch
from torch import nn

import truth


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, past):
        q, k, v = self.qkv(x).chunk(3, -1)
        if past:
            k, v = torch.cat([past['k'], k], 1), torch.cat([past['v'], v], 1)
        past['k'], past['v'] = k, v
        return x + self.out(nn.functional.scaled_dot_product_attention(q, k, v))


class Decoder(nn.Module):
    def __init__(self, vocabulary=500, width=128, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Attention(width) for _ in range(depth))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, pasts):
        x = self.embed(tokens)
        for block, past in zip(self.blocks, pasts):
            x = block(x, past)
        return self.head(x[:, -1])


@torch.inference_mode()
def answer(model, prompt, length):
    pasts = [{} for _ in model.blocks]
    token, tokens = prompt.cuda(), []
    for _ in range(length):
        token = model(token, pasts).argmax(-1, keepdim=True)
        tokens.append(token.item())
        truth.end_of_step()
    return tokens


random.seed(3)
decoder = Decoder().cuda().eval()
for _ in range(8):
    answer(decoder, torch.randint(500, (1, random.randint(4, 30))), random.randint(5, 12))
truth.declare_no_leak()
