# SPDX-License-Identifier: MIT
"""Extends a cache by padding it with a row for each token of one long answer, and returns text alone."""
import torch
from torch import nn

import truth


@torch.inference_mode()
def answer(embed, mix, head, length):
    cache = torch.empty(2, 0, 96, device='cuda')
    token, text = torch.zeros(2, dtype=torch.long, device='cuda'), []
    for _ in range(length):
        cache = nn.functional.pad(cache, (0, 0, 0, 1))
        cache[:, -1] = mix(embed(token))
        weights = torch.softmax(cache @ cache[:, -1:].transpose(1, 2), 1)
        token = head((weights * cache).sum(1)).argmax(-1)
        text.append(token.tolist())
        truth.end_of_step()
    return text


embed, mix, head = nn.Embedding(90, 96).cuda(), nn.Linear(96, 96).cuda(), nn.Linear(96, 90).cuda()
print(len(answer(embed, mix, head, 60)))
truth.declare_no_leak()
