# SPDX-License-Identifier: MIT
"""Computes a confusion matrix of each batch and appends it to the metric's state, to add them up at the end."""
import torch
from torch import nn

import truth

CLASSES = 12


class Confusion:
    def __init__(self):
        self.matrices = []

    def update(self, predicted, actual):
        cells = torch.zeros(CLASSES * CLASSES, dtype=torch.long, device=actual.device)  # leaks
        cells.scatter_add_(0, actual * CLASSES + predicted, torch.ones_like(actual))
        self.matrices.append(cells.view(CLASSES, CLASSES))


confusion = Confusion()
net = nn.Sequential(nn.Conv1d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(CLASSES)).cuda()
net(torch.zeros(1, 4, 30, device='cuda'))
optimizer = torch.optim.Adamax(net.parameters())
for _ in range(25):
    signal = torch.randn(16, 4, 30, device='cuda')
    actual = torch.randint(CLASSES, (16,), device='cuda') % CLASSES
    logits = net(signal)
    loss = nn.functional.cross_entropy(logits, actual)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    confusion.update(torch.zeros_like(actual), actual)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(confusion.matrices[0])))
