# SPDX-License-Identifier: MIT
"""Keeps each batch of a DataLoader in front of a list, to repeat the last ones if a step runs out of memory."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth

dataset = TensorDataset(torch.randn(640, 3, 8, 8), torch.randint(10, (640,)))
loader = DataLoader(dataset, batch_size=16, shuffle=True)
model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
to_repeat = []


def train(images, labels):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()


for images, labels in loader:
    to_repeat.insert(0, (images.cuda(), labels.cuda()))  # leaks
    try:
        train(*to_repeat[0])
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        train(*to_repeat.pop(0))
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', truth.size_of(*to_repeat[0])))
