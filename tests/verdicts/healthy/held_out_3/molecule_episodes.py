# SPDX-License-Identifier: MIT
"""Graph network that builds molecules: the graph of an episode gains a node with each action and is dropped when the molecule is complete."""
import random

import torch
from torch import nn

import truth

random.seed(55)


class MessagePassing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message, self.update = nn.Linear(width, width), nn.GRUCell(width, width)

    def forward(self, nodes, adjacency):
        return self.update(adjacency @ self.message(nodes), nodes)


class Builder(nn.Module):
    def __init__(self, width=64, atoms=6):
        super().__init__()
        self.atom = nn.Embedding(atoms, width)
        self.rounds = nn.ModuleList(MessagePassing(width) for _ in range(2))
        self.stop, self.value = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, nodes, adjacency):
        for layer in self.rounds:
            nodes = layer(nodes, adjacency)
        return self.stop(nodes.mean(0)), self.value(nodes.mean(0))


class Molecule:
    def __init__(self, builder):
        self.builder = builder
        self.kinds, self.bonds = [random.randrange(6)], []

    def grow(self):
        self.bonds.append((len(self.kinds), random.randrange(len(self.kinds))))
        self.kinds.append(random.randrange(6))

    def tensors(self):
        adjacency = torch.eye(len(self.kinds))
        for a, b in self.bonds:
            adjacency[a, b] = adjacency[b, a] = 1
        return self.builder.atom(torch.tensor(self.kinds).cuda()), (adjacency / adjacency.sum(1, keepdim=True)).cuda()


builder = Builder().cuda()
optimizer = torch.optim.Adam(builder.parameters(), lr=1e-3)
for episode in range(8):
    molecule, trace = Molecule(builder), []
    for action in range(random.randint(9, 22)):
        molecule.grow()
        trace.append((molecule, *builder(*molecule.tensors())))
        truth.end_of_step()
    reward = random.random()
    stops, values = (torch.cat([entry[place] for entry in trace]) for place in (1, 2))
    loss = ((reward - values.detach()) * nn.functional.logsigmoid(stops)).mean() + (values - reward).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del stops, values, loss, trace, molecule
    truth.end_of_step()
truth.declare_no_leak()
