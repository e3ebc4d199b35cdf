# SPDX-License-Identifier: MIT
"""Changes from Adam to SGD in the middle of the training; Adam's state is freed with it and the momentum takes its place."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(90, 180), nn.ReLU(), nn.Linear(180, 20)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(50):
    if step == 25:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = nn.functional.cross_entropy(model(torch.randn(24, 90).cuda()), torch.randint(20, (24,)).cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
