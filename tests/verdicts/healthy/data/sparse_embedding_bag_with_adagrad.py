# SPDX-License-Identifier: MIT
"""Trains bags of sparse features with Adagrad, whose sums of squares exist from the start."""
import torch
from torch import nn

import truth


class Recommender(nn.Module):
    def __init__(self, users, items):
        super().__init__()
        self.user, self.item = nn.Embedding(users, 16, sparse=True), nn.EmbeddingBag(items, 16, sparse=True, mode='sum')

    def forward(self, users, items, offsets):
        return (self.user(users) * self.item(items, offsets)).sum(1)


def main():
    model = Recommender(1000, 3000).to('cuda')
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for step in range(50):
        sizes = torch.randint(1, 20, (48,))
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)[:-1]])
        users, items = torch.randint(1000, (48,)), torch.randint(3000, (int(sizes.sum()),))
        score = model(users.cuda(), items.cuda(), offsets.cuda())
        loss = nn.functional.softplus(-score).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
