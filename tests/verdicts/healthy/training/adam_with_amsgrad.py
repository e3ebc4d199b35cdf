# SPDX-License-Identifier: MIT
"""Trains with AMSGrad. Its three buffers for each parameter are allocated in the first step and never freed."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.Conv2d(16, 16, 5), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)).cuda()
optimizer = torch.optim.Adam(model.parameters(), amsgrad=True, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
for _ in range(40):
    digits, labels = torch.rand(20, 1, 20, 20).cuda(), torch.randint(10, (20,)).cuda()
    loss = nn.functional.cross_entropy(model(digits), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    truth.end_of_step()
truth.declare_no_leak()
