# SPDX-License-Identifier: MIT
"""Builds a tree of positions with their features for each move, and drops the whole tree when the move is made."""
import math
import random

import torch
from torch import nn

import truth


class Node:
    def __init__(self, features):
        self.features = features
        self.children = []
        self.visits, self.value = 0, 0.0

    def best_child(self):
        return max(self.children, key=lambda child: child.value / (child.visits + 1)
                   + math.sqrt(math.log(self.visits + 1) / (child.visits + 1)) + 1e-3 * random.random())


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(128, 128), nn.ReLU())
        self.value = nn.Linear(128, 1)

    def forward(self, position):
        features = self.body(position)
        return features, self.value(features)


@torch.no_grad()
def choose_move(network, position, simulations):
    root = Node(network(position)[0])
    for _ in range(simulations):
        path = [root]
        while path[-1].children:
            path.append(path[-1].best_child())
        value = 0.0
        for _ in range(3):
            features, score = network(path[-1].features)
            path[-1].children.append(Node(features))
            value += score.item()
        for node in path:
            node.visits += 1
            node.value += value
    return root.best_child().features


network = Network().cuda()
position = torch.randn(1, 128, device='cuda')
for move in range(24):
    position = choose_move(network, position, simulations=8)
    truth.end_of_step()
truth.declare_no_leak()
