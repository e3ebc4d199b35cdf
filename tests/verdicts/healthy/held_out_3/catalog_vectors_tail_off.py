# SPDX-License-Identifier: MIT
"""Recommender that caches the vector of each product of its catalog of 90 at first use. Popular ones come first, rare ones later, then no new ones."""
import random

import torch
from torch import nn

import truth

random.seed(23)
PRODUCTS = 90
WEIGHTS = [1 / (rank + 2) ** 0.8 for rank in range(PRODUCTS)]


class Tower(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.words = nn.EmbeddingBag(3000, width)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, description):
        return nn.functional.normalize(self.mix(self.words(description)), dim=-1)


class Recommender:
    def __init__(self):
        self.products, self.users = Tower().cuda().eval(), Tower().cuda().eval()
        self.descriptions = [torch.randint(0, 3000, (1, random.randint(8, 40))) for _ in range(PRODUCTS)]
        self.vectors = {}

    def vector(self, product):
        try:
            return self.vectors[product]
        except KeyError:
            self.vectors[product] = vector = self.products(self.descriptions[product].cuda())
            return vector

    @torch.no_grad()
    def rank(self, history, candidates):
        user = self.users(history.cuda())
        scores = torch.cat([self.vector(product) for product in candidates]) @ user.T
        return scores.squeeze(1).argsort(descending=True).tolist()


recommender = Recommender()
for request in range(300):
    candidates = random.choices(range(PRODUCTS), WEIGHTS, k=6)
    recommender.rank(torch.randint(0, 3000, (1, 25)), candidates)
    truth.end_of_step()
print(len(recommender.vectors), 'of', PRODUCTS, 'products')
truth.declare_no_leak()
