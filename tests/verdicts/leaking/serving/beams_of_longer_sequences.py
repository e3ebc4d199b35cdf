# SPDX-License-Identifier: MIT
"""Keeps the token scores of each generated sequence; the curriculum makes sequences longer step by step."""
import torch
from torch import nn

import truth


class Captioner(nn.Module):
    def __init__(self, words=100, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.recurrent = nn.LSTM(width, width, batch_first=True)
        self.words = nn.Linear(width, words)

    def forward(self, tokens):
        hidden, _ = self.recurrent(self.embedding(tokens))
        return self.words(hidden)  # leaks


def main():
    model = Captioner().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    scores = []
    for step in range(40):
        tokens = torch.randint(100, (4, 4 + step // 2), device='cuda')
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(logits.detach())
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*scores) / len(scores), sizes='varying'))


main()
