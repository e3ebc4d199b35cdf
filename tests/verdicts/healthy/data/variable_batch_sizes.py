# SPDX-License-Identifier: MIT
"""Packs documents into batches by a budget of tokens, so that each batch has another number of rows."""
import random

import torch
from torch import nn

import truth


def packed(budget, number):
    for _ in range(number):
        length = random.randint(4, 50)
        yield torch.randint(1000, (budget // length, length))


random.seed(1)
bag = nn.EmbeddingBag(1000, 40).cuda()
classify = nn.Linear(40, 6).cuda()
optimizer = torch.optim.Adam([*bag.parameters(), *classify.parameters()])
for batch in packed(800, 50):
    logits = classify(bag(batch.cuda()))
    loss = logits.logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
