# SPDX-License-Identifier: MIT
"""Makes the table of results one row longer in each step with torch.vstack."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(60, 30), nn.ReLU(), nn.Linear(30, 128)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
table = None
for _ in range(60):
    out = model(torch.randn(40, 60, device='cuda'))
    optimizer.zero_grad()
    out.square().mean().backward()
    optimizer.step()
    row = out.detach().mean(0, keepdim=True)
    table = row if table is None else torch.vstack((table, row))  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(table) / 60))
