# SPDX-License-Identifier: MIT
"""Makes the child of the chosen move the new root, so that its subtree stays and its siblings are freed with the old root."""
import random
import weakref

import torch
from torch import nn

import truth


class Node:
    def __init__(self, state, parent=None):
        self.state = state
        self.parent = weakref.ref(parent) if parent else lambda: None
        self.children = {}

    def leaf(self):
        node = self
        while len(node.children) == 3:
            node = random.choice(list(node.children.values()))
        return node


def search(root, dynamics, simulations):
    for _ in range(simulations):
        leaf = root.leaf()
        with torch.no_grad():
            leaf.children[len(leaf.children)] = Node(dynamics(leaf.state), leaf)


def main():
    random.seed(5)
    dynamics = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 256)).to('cuda')
    root = Node(torch.randn(1, 256, device='cuda'))
    for _ in range(30):
        search(root, dynamics, 9)
        root = random.choice(list(root.children.values()))
        truth.end_of_step()


if __name__ == '__main__':
    main()
    truth.declare_no_leak()
