# SPDX-License-Identifier: MIT
"""Trains with an evaluation behind each epoch; predictions of all evaluations stay."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
optimizer = torch.optim.Adam(model.parameters())
predictions = []
for epoch in range(6):
    for batch in range(10):
        x = torch.randn(16, 32).cuda()
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    with torch.no_grad():
        for batch in range(5):
            predictions.append(model(torch.randn(16, 32).cuda()).argmax(-1))  # leaks
truth.declare_leaks(truth.leak('# leaks', truth.size_of(predictions[0])))
