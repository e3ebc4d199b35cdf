# SPDX-License-Identifier: MIT
"""Keeps the first row of each output. The row is a view, which keeps the whole output."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(20, 40), nn.Tanh(), nn.Linear(40, 50)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
examples = []
for _ in range(40):
    x = torch.randn(128, 20, device='cuda')
    out = model(x)  # leaks
    loss = out.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    examples.append(out.detach()[0])
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(examples[0])))
