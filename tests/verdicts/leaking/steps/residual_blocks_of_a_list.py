# SPDX-License-Identifier: MIT
"""A residual network of eight equal blocks in a ModuleList; features of each batch stay in a list."""
import torch
from torch import nn

import truth


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(8))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


net = Net().cuda().eval()
features = []
x = torch.randn(16, 64, device='cuda')
with torch.inference_mode():
    for _ in range(40):
        features.append(net(x)[:1].clone())  # leaks
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(features[0])), steps_must_match=True)
