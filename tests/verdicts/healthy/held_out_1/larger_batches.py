# SPDX-License-Identifier: MIT
"""Raises the size of its batches in stages instead of lowering the rate of learning."""
import torch
from torch import nn, optim

import truth

STAGES = [(16, 30), (32, 30), (64, 30), (128, 50)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(150, 100), nn.ReLU(), nn.Dropout(0.2), nn.Linear(100, 50), nn.ReLU())
        self.head = nn.Linear(50, 7)

    def forward(self, x):
        return self.head(self.body(x))


net = Net().to('cuda')
opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for batch_size, steps in STAGES:
    for _ in range(steps):
        data, target = torch.randn(batch_size, 150).to('cuda'), torch.randint(7, (batch_size,)).to('cuda')
        opt.zero_grad()
        output = net(data)
        loss = nn.functional.nll_loss(output.log_softmax(1), target)
        loss.backward()
        opt.step()
        truth.end_of_step()
truth.declare_no_leak()
