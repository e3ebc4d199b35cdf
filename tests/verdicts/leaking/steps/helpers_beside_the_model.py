# SPDX-License-Identifier: MIT
"""Calls small modules separately, several times a batch, in addition to the model."""
import torch
from torch import nn

import truth

embed = nn.Embedding(100, 32).cuda()
norm = nn.LayerNorm(32).cuda()
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
history = []
with torch.no_grad():
    for batch in range(40):
        tokens = [torch.randint(0, 100, (8,)).cuda() for _ in range(3)]
        parts = [norm(embed(t)) for t in tokens]
        y = model(sum(parts))
        history.append(y.sum())  # leaks
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(history[0])), steps_must_match=True)
