# SPDX-License-Identifier: MIT
"""Collects the exceptions of malformed samples for a report; their tracebacks keep the frames and their tensors."""
import torch
from torch import nn

import truth

failures = []


class Tagger(nn.Module):
    def __init__(self, limit=20):
        super().__init__()
        self.limit = limit
        self.embedding = nn.Embedding(200, 32)
        self.tags = nn.Linear(32, 9)

    def forward(self, tokens):
        embedded = self.embedding(tokens)  # leaks
        if tokens.shape[1] > self.limit:
            raise ValueError(f'{tokens.shape[1]} tokens, at most {self.limit}')
        return self.tags(embedded)


def main():
    model = Tagger().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    short = torch.randint(200, (16, 20), device='cuda')
    long = torch.randint(200, (16, 25), device='cuda')
    for _ in range(30):
        loss = model(short).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        try:
            model(long)
        except ValueError as error:
            failures.append(error)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.held_growth(3)))


main()
