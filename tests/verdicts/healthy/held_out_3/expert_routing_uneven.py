# SPDX-License-Identifier: MIT
"""Mixture of experts: each step sends other shares of its tokens to the experts, and the load of the experts is averaged in place."""
import random

import torch
from torch import nn

import truth

random.seed(99)


class Expert(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))


class Mixture(nn.Module):
    def __init__(self, width=64, experts=6):
        super().__init__()
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))
        self.gate = nn.Linear(width, experts)
        self.register_buffer('load', torch.zeros(experts))

    def shares(self, tokens):
        """How many tokens go to each expert; stands for the router's choice."""
        cuts = sorted(random.randint(0, tokens) for _ in range(len(self.experts) - 1))
        return [end - start for start, end in zip([0, *cuts], [*cuts, tokens])]

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outputs, at = [], 0
        for number, (expert, share) in enumerate(zip(self.experts, self.shares(len(x)))):
            if share:
                part = slice(at, at + share)
                outputs.append(expert(x[part]) * weights[part, number:number + 1])
            at += share
        with torch.no_grad():
            self.load.lerp_(weights.mean(0), 0.02)
        return torch.cat(outputs), weights.mean(0).square().sum()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.mixture, self.out = nn.Linear(30, 64), Mixture(), nn.Linear(64, 30)

    def forward(self, x):
        hidden, balance = self.mixture(self.into(x))
        return self.out(hidden), balance


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(150):
    x = torch.randn(256, 30).cuda()
    out, balance = model(x)
    loss = nn.functional.mse_loss(out, x) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, model.mixture.load.tolist())
    truth.end_of_step()
truth.declare_no_leak()
