# SPDX-License-Identifier: MIT
"""Remembers the vectors of words; most words come early, the last ones late."""
import random

import torch
from torch import nn

import truth

WORDS = [f'word{i}' for i in range(40)]


class CharacterEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.characters = nn.Embedding(128, 64)
        self.rnn = nn.LSTM(64, 128, batch_first=True)

    def forward(self, word):
        codes = torch.tensor([[ord(c) for c in word]], device='cuda')
        return self.rnn(self.characters(codes))[1][0].flatten()


def main():
    rng = random.Random(5)
    encoder = CharacterEncoder().cuda().requires_grad_(False)
    classifier = nn.Linear(128, 2).cuda()
    optimizer = torch.optim.SGD(classifier.parameters(), lr=0.5)
    vectors = {}
    for _ in range(180):
        sentence = rng.choices(WORDS, k=4)
        for word in sentence:
            if word not in vectors:
                vectors[word] = encoder(word)
        sentence_vector = torch.stack([vectors[word] for word in sentence]).mean(0, keepdim=True)
        loss = nn.functional.cross_entropy(classifier(sentence_vector), torch.tensor([rng.randrange(2)], device='cuda'))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_no_leak()


main()
