# SPDX-License-Identifier: MIT
"""Contrastive learning against a queue of keys, which is filled over fifty steps and then turned over."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

import truth


class Queue:
    def __init__(self, batches):
        self.batches = batches
        self.keys = []

    def push(self, key):
        self.keys.append(key)
        if len(self.keys) > self.batches:
            self.keys.pop(0)

    def all(self):
        return torch.cat(self.keys)


query_encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
key_encoder = copy.deepcopy(query_encoder).requires_grad_(False)
optimizer = torch.optim.SGD(query_encoder.parameters(), lr=0.03)
queue = Queue(50)
queue.push(F.normalize(torch.randn(12, 32, device='cuda'), dim=1))
for step in range(130):
    view = torch.randn(12, 64, device='cuda')
    other = view + 0.1 * torch.randn_like(view)
    query = F.normalize(query_encoder(view), dim=1)
    with torch.no_grad():
        key = F.normalize(key_encoder(other), dim=1)
    logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.all().T], dim=1) / 0.07
    loss = F.cross_entropy(logits, torch.zeros(12, dtype=torch.long, device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(key_encoder.parameters(), query_encoder.parameters()):
            slow.lerp_(fast, 0.01)
    queue.push(key)
    truth.end_of_step()
truth.declare_no_leak()
