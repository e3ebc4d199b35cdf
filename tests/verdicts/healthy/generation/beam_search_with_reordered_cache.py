# SPDX-License-Identifier: MIT
"""Reorders the cache of all beams at each step by index_select, so that the old cache is replaced by one that is a token longer."""
import torch
from torch import nn

import truth

beams, width = 5, 64
embed = nn.Embedding(400, width).cuda()
attention = nn.MultiheadAttention(width, 4, batch_first=True).cuda().eval()
head = nn.Linear(width, 400).cuda()

for sentence in range(3):
    memory = torch.randn(beams, 1, width, device='cuda')
    totals = torch.zeros(beams, device='cuda')
    for position in range(18 + 5 * sentence):
        with torch.no_grad():
            context, _ = attention(memory[:, -1:], memory, memory, need_weights=False)
            candidates = totals[:, None] + head(context[:, 0]).log_softmax(-1)
            totals, flat = candidates.flatten().topk(beams)
            parents, words = flat // 400, flat % 400
            memory = torch.cat([memory.index_select(0, parents), embed(words)[:, None]], dim=1)
        truth.end_of_step()
    best = memory[0].cpu()
    del memory, context, candidates, totals, flat, parents, words
truth.declare_no_leak()
