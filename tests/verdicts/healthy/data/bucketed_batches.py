# SPDX-License-Identifier: MIT
"""Groups sentences into buckets by length, and sends a bucket as one batch when it is full; at most eight buckets are open."""
from collections import defaultdict
import random

import torch
from torch import nn

import truth


def bucketed(sentences, size):
    buckets = defaultdict(list)
    for sentence in sentences:
        key = -(-len(sentence) // 8)
        buckets[key].append(nn.functional.pad(sentence.cuda(), (0, 8 * key - len(sentence))))
        if len(buckets[key]) == size:
            yield torch.stack(buckets.pop(key))


def main():
    random.seed(0)
    sentences = (torch.randint(1, 200, (random.randint(3, 64),)) for _ in range(600))
    model = nn.Sequential(nn.Embedding(200, 32, padding_idx=0), nn.Linear(32, 200)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for batch in bucketed(sentences, 10):
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
