# SPDX-License-Identifier: MIT
"""A notebook shows the output of the same cell again and again, and the history keeps every Out."""
import torch
from torch import nn

import truth

Out = {}


def cell(function):
    number = len(Out) + 1
    Out[number] = function()
    globals()['_'] = Out[number]


def train():
    global model, optimizer, data
    for _ in range(3):
        optimizer.zero_grad()
        model(data).pow(2).mean().backward()
        optimizer.step()
        truth.end_of_step()


def look():
    with torch.no_grad():
        return model[0].weight @ model[0].weight.T  # leaks


data = torch.randn(200, 12, device='cuda')
model = nn.Sequential(nn.Linear(12, 36), nn.ReLU(), nn.Linear(36, 16)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(18):
    train()
    cell(look)
truth.declare_leaks(truth.leak('# leaks', truth.size_of(_) / 3))
