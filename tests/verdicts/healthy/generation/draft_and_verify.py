# SPDX-License-Identifier: MIT
"""Drafts five tokens with a small model, cuts the cache back to those that the large model accepts, and frees it with the answer."""
import random

import torch
from torch import nn

import truth


def make_model(width):
    return nn.ModuleDict({'embed': nn.Embedding(320, width), 'mix': nn.Linear(width, width), 'head': nn.Linear(width, 320)}).cuda()


def run(model, tokens, cache):
    states = model['mix'](model['embed'](tokens))
    cache = states if cache is None else torch.cat([cache, states], 0)
    attended = torch.softmax(states @ cache.T, -1) @ cache
    return model['head'](attended).argmax(-1), cache


@torch.no_grad()
def generate(large, small, rounds):
    last = torch.zeros(1, dtype=torch.long, device='cuda')
    large_cache = small_cache = None
    for _ in range(rounds):
        drafted = [last]
        for _ in range(5):
            token, small_cache = run(small, drafted[-1], small_cache)
            drafted.append(token)
        verified, large_cache = run(large, torch.cat(drafted[:-1]), large_cache)
        accepted = random.randint(1, 5)
        rejected = 5 - accepted
        if rejected:
            large_cache = large_cache[:-rejected].clone()
            small_cache = small_cache[:-rejected].clone()
        last = verified[accepted - 1:accepted]
        truth.end_of_step()


random.seed(11)
big, tiny = make_model(256), make_model(32)
for rounds in (20, 12, 26):
    generate(big, tiny, rounds)
truth.declare_no_leak()
