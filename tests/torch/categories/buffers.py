# SPDX-License-Identifier: MIT
"""Trains with statistics of batch normalization, and with a causal mask that a module registers."""

import torch

import held_truth


class Attention(torch.nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.project = torch.nn.Linear(width, 3 * width)
        self.norm = torch.nn.BatchNorm1d(length)
        self.register_buffer('mask', torch.ones(length, length).tril())

    def forward(self, words):
        query, key, value = self.project(words).chunk(3, -1)
        scores = (query @ key.transpose(1, 2)).masked_fill(self.mask == 0, -1e9)
        return self.norm(scores.softmax(-1) @ value)


model = torch.nn.Sequential(*(Attention(256, 1024) for _ in range(3))).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
batch = torch.randn(2, 1024, 256, device='cuda')
for step in range(6):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
held_truth.declare(**held_truth.tensors_of_optimizers(optimizer), buffers=list(model.buffers()), inputs=[batch])
