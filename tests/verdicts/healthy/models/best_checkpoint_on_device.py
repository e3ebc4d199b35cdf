# SPDX-License-Identifier: MIT
"""Clones the weights whenever the validation score is the best so far; the clone replaces the one before."""
import torch
from torch import nn

import truth

validation_scores = iter([0.41, 0.52, 0.50, 0.58, 0.57, 0.61, 0.60, 0.63, 0.62, 0.59, 0.64, 0.63])
model = nn.Sequential(nn.Linear(70, 140), nn.ReLU(), nn.Linear(140, 4)).cuda()
optimizer = torch.optim.Adam(model.parameters())
best_score, best_weights = 0, None
for epoch in range(12):
    for _ in range(5):
        x, y = torch.randn(32, 70, device='cuda'), torch.randint(4, (32,), device='cuda')
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    score = next(validation_scores)
    if score > best_score:
        best_score, best_weights = score, {name: value.clone() for name, value in model.state_dict().items()}
truth.declare_no_leak()
