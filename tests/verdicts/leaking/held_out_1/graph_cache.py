# SPDX-License-Identifier: MIT
"""A graph network that memoizes the normal form of adjacencies, by the tensor itself."""
import functools

import torch
from torch import nn

import truth


@functools.lru_cache(maxsize=None)
def normalized(adjacency):
    return adjacency / adjacency.sum(dim=1, keepdim=True)  # result leaks


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, nodes, adjacency):
        return normalized(adjacency) @ self.linear(nodes)


first, second = GraphConvolution(16, 32).cuda(), GraphConvolution(32, 4).cuda()
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=5e-3)


def random_graph(size):
    adjacency = torch.rand(size, size, device='cuda')  # adjacency leaks
    return torch.randn(size, 16, device='cuda'), adjacency


for graph in range(65):
    nodes, adjacency = random_graph(48)
    logits = second(first(nodes, adjacency).relu(), adjacency)
    loss = logits.log_softmax(-1)[:, 0].neg().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# result leaks', truth.size_of(adjacency)), truth.leak('# adjacency leaks', truth.size_of(adjacency)))
