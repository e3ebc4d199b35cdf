# SPDX-License-Identifier: MIT
"""Keeps the embeddings of the last 25 batches as separate tensors and computes the loss against all of them."""
from collections import deque

import torch
from torch import nn

import truth

embed = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 48)).to('cuda')
optimizer = torch.optim.AdamW(embed.parameters())
memory = deque(maxlen=25)
for step in range(50):
    vectors = embed(torch.randn(40, 50, device='cuda'))
    memory.append(vectors.detach())
    references = torch.cat(tuple(memory))
    loss = torch.cdist(vectors, references).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
