# SPDX-License-Identifier: MIT
"""Keeps the features of the 32 documents that were asked for last in an OrderedDict, and removes the one that waited longest."""
from collections import OrderedDict
import random

import torch
from torch import nn

import truth


class FeatureCache:
    def __init__(self, encoder, capacity):
        self.encoder, self.capacity, self.entries = encoder, capacity, OrderedDict()

    def __getitem__(self, document):
        if document in self.entries:
            self.entries.move_to_end(document)
        else:
            self.entries[document] = self.encoder(torch.full((1, 100), float(document)).cuda())
            if len(self.entries) > self.capacity:
                self.entries.popitem(last=False)
        return self.entries[document]


@torch.no_grad()
def main():
    random.seed(0)
    cache = FeatureCache(nn.Sequential(nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 300)).cuda(), 32)
    rank = nn.Linear(300, 1).cuda()
    for _ in range(75):
        found = [cache[int(random.expovariate(0.04))] for _ in range(3)]
        rank(torch.cat(found)).argmax().item()
        truth.end_of_step()


main()
truth.declare_no_leak()
