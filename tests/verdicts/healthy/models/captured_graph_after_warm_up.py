# SPDX-License-Identifier: MIT
"""Trains some steps eagerly as a warm-up, captures one step in a CUDA graph with static inputs, and replays it."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
static_input = torch.zeros(32, 64, device='cuda')


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = model(static_input).square().mean()
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(6):
        step()
        truth.end_of_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static_loss = step()
for _ in range(40):
    static_input.copy_(torch.randn(32, 64))
    graph.replay()
    truth.end_of_step()
truth.declare_no_leak()
