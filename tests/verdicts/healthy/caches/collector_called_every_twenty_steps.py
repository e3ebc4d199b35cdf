# SPDX-License-Identifier: MIT
"""Switches the automatic collector off and collects every twenty steps, which frees the graphs with cycles made since."""
import gc

import torch
from torch import nn

import truth


class Node:
    def __init__(self, value, parent=None):
        self.value, self.children, self.parent = value, [], parent
        if parent:
            parent.children.append(self)


def tree_of(tokens, combine):
    root = Node(tokens[0])
    for token in tokens[1:]:
        root = Node(combine(torch.cat([root.value, token])), root)
    return root


def main():
    gc.disable()
    combine, score = nn.Linear(128, 64).cuda(), nn.Linear(64, 1).cuda()
    optimizer = torch.optim.SGD([*combine.parameters(), *score.parameters()], lr=0.01)
    for step in range(80):
        tree = tree_of(torch.randn(5, 64, device='cuda'), combine)
        loss = score(tree.value).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del tree, loss
        if step % 20 == 19:
            gc.collect()
        truth.end_of_step()


main()
truth.declare_no_leak()
