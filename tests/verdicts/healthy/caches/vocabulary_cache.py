# SPDX-License-Identifier: MIT
"""Stores the embedding of each word at its first use; frequent words come first, and new ones become rare."""
import random

import torch
from torch import nn

import truth

random.seed(3)
words = [f'word{rank}' for rank in range(120)]
weights = [1 / (rank + 1) ** 1.5 for rank in range(120)]
character = nn.EmbeddingBag(256, 64).cuda()
classify = nn.Linear(64, 4).cuda()
cache = {}


def vector(word):
    if word not in cache:
        cache[word] = character(torch.tensor([list(word.encode())], device='cuda'))
    return cache[word]


with torch.no_grad():
    for _ in range(70):
        sentence = random.choices(words, weights, k=25)
        label = classify(torch.cat([vector(word) for word in sentence]).mean(0)).argmax().item()
        truth.end_of_step()
truth.declare_no_leak()
