# SPDX-License-Identifier: MIT
"""Trains with gradients that are views of one buffer. The buffer is zeroed and never freed."""

import torch

import held_truth

model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
parameters = list(model.parameters())
flat = torch.zeros(sum(parameter.numel() for parameter in parameters), device='cuda')
at = 0
for parameter in parameters:
    parameter.grad = flat[at : at + parameter.numel()].view_as(parameter)
    at += parameter.numel()
optimizer = torch.optim.Adam(parameters, lr=0.001)
batch = torch.randn(512, 1024, device='cuda')
for step in range(6):
    flat.zero_()
    model(batch).sum().backward()
    optimizer.step()
held_truth.declare(**held_truth.tensors_of_optimizers(optimizer), inputs=[batch])
