# SPDX-License-Identifier: MIT
"""Trains a model in half precision. Its optimizer trains copies of the weights in single precision."""

import torch

import held_truth

model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda().bfloat16()
masters = [parameter.detach().clone().float() for parameter in model.parameters()]
optimizer = torch.optim.AdamW(masters, lr=0.001)
batch = torch.randn(512, 1024, device='cuda').bfloat16()
for step in range(6):
    model.zero_grad()
    model(batch).float().sum().backward()
    for master, parameter in zip(masters, model.parameters()):
        master.grad = parameter.grad.float()
    optimizer.step()
    with torch.no_grad():
        for master, parameter in zip(masters, model.parameters()):
            parameter.copy_(master)
held = held_truth.tensors_of_optimizers(optimizer)
held['parameters'] += model.parameters()
held['gradients'] += [parameter.grad for parameter in model.parameters()]
held_truth.declare(**held)
