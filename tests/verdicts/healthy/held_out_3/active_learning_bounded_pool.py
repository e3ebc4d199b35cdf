# SPDX-License-Identifier: MIT
"""Active learning: each round adds the ten least certain samples to a labelled pool of at most 60, and drops the oldest ones."""
import torch
from torch import nn

import truth


class Pool:
    def __init__(self, limit):
        self.limit = limit
        self.samples = []

    def add(self, samples):
        self.samples = (self.samples + samples)[-self.limit:]

    def batches(self, size):
        for start in range(0, len(self.samples) - size + 1, size):
            chosen = self.samples[start:start + size]
            yield torch.stack([x for x, _ in chosen]), torch.tensor([y for _, y in chosen]).cuda()


class Oracle:
    def label(self, x):
        return hash(tuple(x.shape)) % 4


def least_certain(model, candidates, count):
    with torch.no_grad():
        probabilities = model(candidates).softmax(1)
        entropy = -(probabilities * (probabilities + 1e-9).log()).sum(1)
        order = entropy.argsort(descending=True)[:count]
    return [index % len(candidates) for index in order.tolist()]


model = nn.Sequential(nn.Linear(500, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
pool, oracle = Pool(60), Oracle()
for round_number in range(30):
    candidates = torch.randn(100, 500, device='cuda')
    picked = least_certain(model.eval(), candidates, 10)
    pool.add([(candidates[index].clone(), oracle.label(candidates[index])) for index in picked])
    del candidates
    model.train()
    for x, y in pool.batches(10):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        truth.end_of_step()
print(len(pool.samples), 'labelled')
truth.declare_no_leak()
