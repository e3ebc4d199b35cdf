# SPDX-License-Identifier: MIT
"""Trains layers that a checkpoint calls again in the backward pass. Their results there are activations."""

import sys

import torch
from torch.utils.checkpoint import checkpoint

import held_truth

REENTRANT = sys.argv[1] == 'reentrant'


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(256, 2048), torch.nn.Linear(2048, 256)
        self.again = 0

    def forward(self, words):
        hidden = torch.tanh(self.wide(words))
        self.again += 1
        if step == 5 and self.again % 2 == 0 and self is layers[-1]:
            # This is the second call, in the backward pass. The results of the first call are free.
            held_truth.declare(activations=[hidden, *kept[1:]])
        return self.narrow(hidden)


layers = torch.nn.ModuleList(Layer() for _ in range(2)).cuda()
optimizer = torch.optim.SGD(layers.parameters(), lr=0.001)
batch = torch.randn(4096, 256, device='cuda', requires_grad=True)
for step in range(6):
    optimizer.zero_grad()
    kept = [batch]
    for layer in layers:
        kept.append(checkpoint(layer, kept[-1], use_reentrant=REENTRANT))
    loss = kept[-1].sum()
    loss.backward()
    optimizer.step()
