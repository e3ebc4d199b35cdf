# SPDX-License-Identifier: MIT
"""Tree search: each move builds a tree whose nodes know their parents, which only the collector can free. It is asked to after each game."""
import gc
import math
import random

import torch
from torch import nn

import truth

random.seed(8)


class Node:
    def __init__(self, state, parent=None, prior=1.0):
        self.state, self.parent, self.prior = state, parent, prior
        self.children, self.visits, self.value = [], 0, 0.0

    def score(self):
        return self.value / (1 + self.visits) + self.prior * math.sqrt(self.parent.visits + 1) / (1 + self.visits)

    def leaf(self):
        node = self
        while node.children:
            node = max(node.children, key=Node.score)
        return node


class Search:
    def __init__(self, moves=3, width=192):
        self.dynamics = nn.Linear(width, moves * width).cuda().eval()
        self.moves = moves

    @torch.no_grad()
    def move(self, state, simulations=8):
        root = Node(state)
        for _ in range(simulations):
            node = root.leaf()
            following = torch.tanh(self.dynamics(node.state)).chunk(self.moves)
            node.children = [Node(after.clone(), node, random.random()) for after in following]
            value = random.random()
            while node:
                node.visits, node.value, node = node.visits + 1, node.value + value, node.parent
        return max(range(self.moves), key=lambda number: root.children[number].visits), root.children[0].state


search = Search()
for game in range(12):
    state = torch.randn(192).cuda()
    for _ in range(15):
        choice, state = search.move(state)
        truth.end_of_step()
    del state
    gc.collect()
    truth.end_of_step()
truth.declare_no_leak()
