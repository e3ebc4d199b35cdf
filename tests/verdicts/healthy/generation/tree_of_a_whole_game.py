# SPDX-License-Identifier: MIT
"""Keeps the tree of positions with their features during a whole game of forty moves, and frees it when the game is over."""
import random

import torch
from torch import nn

import truth


class Tree:
    def __init__(self, features):
        self.features, self.children = features, []


@torch.no_grad()
def play_game(network, moves):
    root = node = Tree(torch.randn(1, 96, device='cuda'))
    for _ in range(moves):
        for _ in range(4):
            node.children.append(Tree(network(node.features)))
        node = random.choice(node.children)
        truth.end_of_step()
    return len(root.children)


def main():
    random.seed(0)
    network = nn.Sequential(nn.Linear(96, 96), nn.ReLU()).cuda()
    play_game(network, 40)


main()
truth.declare_no_leak()
