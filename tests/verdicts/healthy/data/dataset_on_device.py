# SPDX-License-Identifier: MIT
"""Loads all of the data to the device once, before the first step, and indexes into it."""
import torch
from torch import nn

import truth

images, labels = torch.rand(2000, 196).cuda(), torch.randint(10, (2000,)).cuda()
model = nn.Sequential(nn.Linear(196, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for rows in torch.randperm(2000).split(80):
        rows = rows.cuda()
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
truth.declare_no_leak()
