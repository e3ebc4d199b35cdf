# SPDX-License-Identifier: MIT
"""Tree search for a board game: the tree goes on growing from move to move, since the old root is never cut off."""
from __future__ import annotations

import random
from dataclasses import dataclass, field

import torch
import truth

random.seed(1)


@dataclass
class Node:
    latent: torch.Tensor
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    visits: int = 0

    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth()


class Dynamics(torch.nn.Module):
    def __init__(self, size=512):
        super().__init__()
        self.move = torch.nn.Embedding(9, size)
        self.mix = torch.nn.Linear(size, size)

    def forward(self, latent, move):
        return torch.relu(self.mix(latent) + self.move(move))  # leaks


def descend(node: Node) -> Node:
    node.visits += 1
    if len(node.children) < 3:
        return node
    return descend(min(node.children, key=lambda child: (child.visits, random.random())))


@torch.no_grad()
def think(root: Node, dynamics: Dynamics, simulations: int) -> None:
    for _ in range(simulations):
        leaf = descend(root)
        move = torch.tensor(random.randrange(9)).cuda()
        leaf.children.append(Node(dynamics(leaf.latent, move), parent=leaf))
        truth.end_of_step()


dynamics = Dynamics().cuda().eval()
position = Node(torch.zeros(512, device='cuda'))
for turn in range(6):
    think(position, dynamics, simulations=24)
    position = max(position.children, key=lambda child: child.visits)
    print('move', turn, 'depth', position.depth())
truth.declare_leaks(truth.leak('# leaks', 2048))
