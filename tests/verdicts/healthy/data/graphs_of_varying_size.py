# SPDX-License-Identifier: MIT
"""Passes messages over graphs with random numbers of nodes and edges; all tensors of a graph go with its step."""
import random

import torch
from torch import nn

import truth


class MessagePassing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message, self.update = nn.Linear(2 * width, width), nn.GRUCell(width, width)

    def forward(self, nodes, edges):
        messages = torch.relu(self.message(torch.cat([nodes[edges[0]], nodes[edges[1]]], 1)))
        return self.update(torch.zeros_like(nodes).index_add(0, edges[1], messages), nodes)


def random_graph():
    nodes = random.randint(10, 200)
    return torch.randn(nodes, 32), torch.randint(nodes, (2, random.randint(nodes, 4 * nodes)))


def main():
    random.seed(3)
    layers = nn.ModuleList(MessagePassing(32) for _ in range(2)).cuda()
    optimizer = torch.optim.Adam(layers.parameters())
    for _ in range(40):
        nodes, edges = (tensor.cuda() for tensor in random_graph())
        for layer in layers:
            nodes = layer(nodes, edges)
        loss = nodes.mean(0).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
