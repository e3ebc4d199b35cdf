# SPDX-License-Identifier: MIT
"""Trains a new model for each of six folds; the model and the optimizer of a fold are replaced by those of the next."""
import torch
from torch import nn

import truth

data, labels = torch.randn(240, 30), torch.randint(3, (240,))
folds = torch.arange(240).chunk(6)
scores = []
for held_out in range(6):
    model = nn.Sequential(nn.Linear(30, 100), nn.ReLU(), nn.Linear(100, 3)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    rows = torch.cat([fold for number, fold in enumerate(folds) if number != held_out])
    for batch in rows[torch.randperm(len(rows))].split(25):
        loss = nn.functional.cross_entropy(model(data[batch].cuda()), labels[batch].cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    with torch.no_grad():
        guesses = model(data[folds[held_out]].cuda()).argmax(1).cpu()
    scores.append((guesses == labels[folds[held_out]]).float().mean().item())
print(scores)
truth.declare_no_leak()
