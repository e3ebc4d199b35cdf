# SPDX-License-Identifier: MIT
"""Builds a tree of tensors for each batch whose nodes know their parents, with the garbage collector off."""
import gc

import torch
from torch import nn

import truth


class Node:
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


class TreeModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.left, self.right = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, value):
        root = Node(value.tanh())  # leaks root
        for side in (self.left, self.right):
            Node(side(root.value), root)  # leaks children
        return sum(child.value for child in root.children).mean()


gc.disable()
model = TreeModel().to('cuda')
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(40):
    loss = model(torch.randn(64, 32, device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
size = 64 * 32 * 4
truth.declare_leaks(truth.leak('# leaks root', size), truth.leak('# leaks children', 2 * size))
