# SPDX-License-Identifier: MIT
"""Caches causal masks by the exact length of the batch, and no length comes twice."""
import torch
from torch import nn

import truth


class CausalModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(500, 32)
        self.masks = {}

    def mask(self, length, device):
        key = (length, device)
        if key not in self.masks:
            self.masks[key] = torch.full((length, length), float('-inf'), device=device).triu_(1)  # leaks
        return self.masks[key]

    def forward(self, tokens):
        x = self.embedding(tokens)
        scores = x @ x.transpose(1, 2) + self.mask(tokens.shape[1], x.device)
        return scores.softmax(-1) @ x


def main():
    model = CausalModel().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(40):
        tokens = torch.randint(500, (4, 80 - (step * 7) % 40), device='cuda')
        loss = model(tokens).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*model.masks.values()) / 40, sizes='varying'))


main()
