# SPDX-License-Identifier: MIT
"""Embeds a collection for a retrieval test, searches in the index that results, and deletes it."""
import torch
from torch import nn

import truth


@torch.no_grad()
def build_index(encoder, items):
    index = []
    for start in range(0, len(items), 32):
        vectors = encoder(items[start:start + 32].cuda())
        index.append(nn.functional.normalize(vectors, dim=-1))
        truth.end_of_step()
    return torch.cat(index)


@torch.no_grad()
def recall(encoder, index, queries):
    hits = 0
    for query in queries.split(16):
        similarity = nn.functional.normalize(encoder(query.cuda()), dim=-1) @ index.T
        hits += similarity.topk(5).indices.shape[0]
        truth.end_of_step()
    return hits / len(queries)


encoder = nn.Sequential(nn.Linear(200, 128), nn.ReLU(), nn.Linear(128, 64)).cuda()
index = build_index(encoder, torch.randn(32 * 55, 200))
print(recall(encoder, index, torch.randn(240, 200)))
del index
truth.declare_no_leak()
