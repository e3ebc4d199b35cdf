# SPDX-License-Identifier: MIT
"""Trains parameters that torch.randn makes, and that belong to no module."""

import torch

import held_truth

weights = [torch.randn(1024, 1024, device='cuda', requires_grad=True) for _ in range(4)]
optimizer = torch.optim.SGD(weights, lr=0.01, momentum=0.9)
batch = torch.randn(2048, 1024, device='cuda')
for step in range(6):
    optimizer.zero_grad()
    hidden = batch
    for weight in weights:
        hidden = torch.tanh(hidden @ weight)
    loss = hidden.sum()
    loss.backward()
    del hidden
    optimizer.step()
held_truth.declare(**held_truth.tensors_of_optimizers(optimizer), inputs=[batch])
del loss
