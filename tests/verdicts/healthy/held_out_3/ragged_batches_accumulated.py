# SPDX-License-Identifier: MIT
"""Transformer on sentences of any length, padded to the longest of the batch; gradients of four batches are accumulated."""
import random

import torch
from torch import nn

import truth

random.seed(31)


class Tagger(nn.Module):
    def __init__(self, words=700, width=64, tags=9):
        super().__init__()
        self.embed = nn.Embedding(words, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 4, 160, dropout=0.1, batch_first=True)
        self.encode = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.tag = nn.Linear(width, tags)

    def forward(self, tokens, padding):
        return self.tag(self.encode(self.embed(tokens), src_key_padding_mask=padding))


def sentences():
    while True:
        yield torch.randint(1, 700, (min(90, max(3, int(random.lognormvariate(2.8, 0.6)))),))


def batches(source, budget=400):
    """Yields batches with as many sentences as fit into the budget of tokens."""
    batch, longest = [], 0
    for sentence in source:
        if max(longest, len(sentence)) * (len(batch) + 1) > budget:
            yield nn.utils.rnn.pad_sequence(batch, batch_first=True)
            batch, longest = [], 0
        batch.append(sentence)
        longest = max(longest, len(sentence))


model = Tagger().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
stream = batches(sentences())
for step in range(60):
    for part in range(4):
        tokens = next(stream).cuda()
        scores = model(tokens, tokens == 0)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens.flatten() % 9)
        (loss / 4).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    truth.end_of_step()
truth.declare_no_leak()
