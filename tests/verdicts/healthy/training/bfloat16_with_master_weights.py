# SPDX-License-Identifier: MIT
"""Keeps a copy of all weights in full precision, updates it by hand, and copies it into the bfloat16 model in place."""
import torch
from torch import nn

import truth


class MasterWeights:
    def __init__(self, model):
        self.model = list(model.parameters())
        self.master = [parameter.detach().float().clone() for parameter in self.model]
        self.momentum = [torch.zeros_like(master) for master in self.master]

    @torch.no_grad()
    def update(self, lr):
        for parameter, master, momentum in zip(self.model, self.master, self.momentum):
            momentum.mul_(0.9).add_(parameter.grad.float())
            master.sub_(lr * momentum)
            parameter.copy_(master)
            parameter.grad = None


def main():
    model = nn.Sequential(nn.Linear(120, 240), nn.SiLU(), nn.Linear(240, 7)).to('cuda', torch.bfloat16)
    weights = MasterWeights(model)
    for _ in range(45):
        model(torch.randn(20, 120, device='cuda', dtype=torch.bfloat16)).float().pow(2).mean().backward()
        weights.update(0.01)
        truth.end_of_step()


main()
truth.declare_no_leak()
