# SPDX-License-Identifier: MIT
"""Speculative decoding: a small model drafts tokens, a large one checks them. Both caches are cut to the accepted tokens, and freed with the text."""
import random

import torch
from torch import nn

import truth

random.seed(13)


class TinyLM(nn.Module):
    def __init__(self, width, vocabulary=256):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, cache):
        q, k, v = self.qkv(self.embed(tokens)).chunk(3, dim=-1)
        k, v = torch.cat([cache[0], k]), torch.cat([cache[1], v])
        return self.head((q @ k.T).softmax(-1) @ v), (k, v)

    def new_cache(self):
        return tuple(torch.empty(0, self.embed.embedding_dim, device='cuda') for _ in range(2))


def cut(cache, length):
    return tuple(part[:length].clone() for part in cache)


@torch.inference_mode()
def generate(draft, large, prompt, wanted, ahead=4):
    small_cache, large_cache = draft.new_cache(), large.new_cache()
    _, small_cache = draft(prompt, small_cache)
    logits, large_cache = large(prompt, large_cache)
    length, last = len(prompt), logits[-1:].argmax(-1)
    while length < wanted:
        proposed = [last]
        for _ in range(ahead):
            logits, small_cache = draft(proposed[-1], small_cache)
            proposed.append(logits.argmax(-1))
        checked, large_cache = large(torch.cat(proposed), large_cache)
        accepted = random.randint(1, ahead)
        length += accepted
        small_cache, large_cache = cut(small_cache, length), cut(large_cache, length)
        last = checked[accepted - 1:accepted].argmax(-1)
        truth.end_of_step()
    return length


draft, large = TinyLM(48).cuda().eval(), TinyLM(192).cuda().eval()
for number in range(9):
    prompt = torch.randint(0, 256, (random.randint(6, 20),)).cuda()
    print(generate(draft, large, prompt, random.randint(50, 90)), 'tokens')
del prompt
truth.end_of_step()
truth.declare_no_leak()
