# SPDX-License-Identifier: MIT
"""Makes attention masks by a function with an lru_cache of twelve entries; rare lengths push the oldest masks out."""
import functools
import random

import torch
from torch import nn

import truth


@functools.lru_cache(maxsize=12)
def causal_mask(length):
    return torch.full((length, length), float('-inf'), device='cuda').triu(1)


random.seed(4)
layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0).cuda()
optimizer = torch.optim.Adam(layer.parameters())
for _ in range(50):
    sequence = torch.randn(3, random.randint(10, 60), 32, device='cuda')
    loss = layer(sequence, src_mask=causal_mask(sequence.shape[1])).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
