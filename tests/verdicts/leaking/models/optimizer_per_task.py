# SPDX-License-Identifier: MIT
"""Makes an optimizer for each task of a curriculum and keeps all of them for their state."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
optimizers = {}
for task in range(20):
    optimizers[task] = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        x = torch.randn(16, 32, device='cuda') + task
        optimizers[task].zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        optimizers[task].step()  # leaks
        truth.end_of_step()

averages = [value for state in optimizers[0].state.values() for value in state.values() if value.is_cuda]
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*averages) / 2))
