# SPDX-License-Identifier: MIT
"""Translates sentences by beam search: the hypotheses' states grow with each word and go away with the sentence."""
from dataclasses import dataclass

import torch
from torch import nn

import truth


@dataclass(order=True)
class Hypothesis:
    score: float
    words: list
    states: list   # one per word, for the attention


class Decoder(nn.Module):
    def __init__(self, vocabulary=300, size=512):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size)
        self.cell = nn.GRUCell(size, size)
        self.out = nn.Linear(size, vocabulary)

    def forward(self, words, states):
        state = self.cell(self.embedding(words), states)
        return self.out(state).log_softmax(-1), state


@torch.no_grad()
def translate(decoder, source, length, width=4):
    beam = [Hypothesis(0.0, [1], [source])]
    for _ in range(length):
        words = torch.tensor([h.words[-1] for h in beam], device='cuda')
        scores, states = decoder(words, torch.stack([h.states[-1] for h in beam]))
        values, indices = scores.topk(width, dim=-1)
        longer = []
        for h, state, value, index in zip(beam, states, values.tolist(), indices.tolist()):
            longer += [Hypothesis(h.score + v, h.words + [i % 300], h.states + [state]) for v, i in zip(value, index)]
        beam = sorted(longer, reverse=True, key=lambda h: h.score)[:width]
        truth.end_of_step()
    return beam[0].words


decoder = Decoder().cuda().eval()
for number, length in enumerate([18, 25, 12, 22, 20, 9]):
    words = translate(decoder, torch.randn(512, device='cuda'), length)
    print(number, len(words), words[:5])
truth.declare_no_leak()
