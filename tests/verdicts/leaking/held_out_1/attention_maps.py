# SPDX-License-Identifier: MIT
"""Keeps the output of attention at each step, and its weights at each second step."""
import torch
from torch import nn

import truth

torch.manual_seed(0)
attention = nn.MultiheadAttention(64, 4, batch_first=True).to('cuda')
readout = nn.Linear(64, 2).to('cuda')
optimizer = torch.optim.RMSprop(list(attention.parameters()) + list(readout.parameters()), lr=1e-3)
contexts, maps = [], []
for i in range(60):
    tokens = torch.randn(8, 24, 64, device='cuda')
    context, weights = attention(tokens, tokens, tokens)  # leaks
    loss = readout(context.mean(1)).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    contexts.append(context.detach())
    if i % 2:
        maps.append(weights.detach())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(context) + truth.size_of(weights) / 2))
