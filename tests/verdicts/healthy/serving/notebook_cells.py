# SPDX-License-Identifier: MIT
"""Runs the cells of a notebook, some of them again, where names at module level are replaced by new models, data and outputs."""
import torch
from torch import nn

import truth

# %% data
features, targets = torch.randn(640, 40).cuda(), torch.randn(640, 1).cuda()

# %% a first model
model = nn.Linear(40, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in torch.arange(640).split(32):
    loss = nn.functional.mse_loss(model(features[rows]), targets[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()

# %% look at it
predictions = model(features)
residuals = predictions - targets
residuals.square().mean().item()

# %% a larger model, trained twice
for attempt in range(2):
    model = nn.Sequential(nn.Linear(40, 100), nn.ReLU(), nn.Linear(100, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=10 ** -(attempt + 2))
    for rows in torch.arange(640).split(32):
        loss = nn.functional.mse_loss(model(features[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    predictions = model(features)
    residuals = predictions - targets

# %% the worst rows
worst = residuals.abs().flatten().topk(10)
print(worst.values.tolist())
truth.declare_no_leak()
