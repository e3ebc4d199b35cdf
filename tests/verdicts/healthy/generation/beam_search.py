# SPDX-License-Identifier: MIT
"""Keeps the hidden states and scores of the best beams and drops those of the rest at each step, and all at the sentence's end."""
import heapq
import random

import torch
from torch import nn

import truth

BEAMS, VOCABULARY = 4, 200


class Hypothesis:
    def __init__(self, tokens, score, hidden):
        self.tokens, self.score, self.hidden = tokens, score, hidden


def expand(hypothesis, cell, embed, head):
    token = torch.tensor([hypothesis.tokens[-1]], device='cuda')
    hidden = cell(embed(token), hypothesis.hidden)
    scores, words = head(hidden).log_softmax(-1).topk(BEAMS)
    return [Hypothesis(hypothesis.tokens + [word % VOCABULARY], hypothesis.score + score + random.random(), hidden)
            for word, score in zip(words[0].tolist(), scores[0].tolist())]


def translate(source, cell, embed, head, length):
    beams = [Hypothesis([0], 0.0, source)]
    for _ in range(length):
        candidates = [new for hypothesis in beams for new in expand(hypothesis, cell, embed, head)]
        beams = heapq.nlargest(BEAMS, candidates, key=lambda hypothesis: hypothesis.score)
        truth.end_of_step()
    return beams[0].tokens


def main():
    random.seed(1)
    embed, cell, head = nn.Embedding(VOCABULARY, 48).cuda(), nn.GRUCell(48, 256).cuda(), nn.Linear(256, VOCABULARY).cuda()
    with torch.no_grad():
        for length in (15, 6, 12, 10):
            translate(torch.randn(1, 256, device='cuda'), cell, embed, head, length)


main()
truth.declare_no_leak()
