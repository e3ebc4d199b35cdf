# SPDX-License-Identifier: MIT
"""Answers one long request with a cache of keys and values that grows by a token a step, and drops the cache with the answer."""
import torch
from torch import nn

import truth

WIDTH, LAYERS, NEW_TOKENS = 64, 3, 70

embed = nn.Embedding(1000, WIDTH).cuda()
projections = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(LAYERS)).cuda()
head = nn.Linear(WIDTH, 1000).cuda()
cache = [None] * LAYERS

token = torch.zeros(1, 1, dtype=torch.long, device='cuda')
answer = []
with torch.no_grad():
    for _ in range(NEW_TOKENS):
        hidden = embed(token)
        for layer, projection in enumerate(projections):
            query, key, value = projection(hidden).chunk(3, dim=-1)
            if cache[layer] is not None:
                key = torch.cat([cache[layer][0], key], dim=1)
                value = torch.cat([cache[layer][1], value], dim=1)
            cache[layer] = key, value
            hidden = hidden + nn.functional.scaled_dot_product_attention(query, key, value)
        token = head(hidden).argmax(-1)
        answer.append(token.item())
        truth.end_of_step()
del cache, key, value
print(len(answer), 'tokens')
truth.declare_no_leak()
