# SPDX-License-Identifier: MIT
"""Calls six layers one by one from its own loop, without a model around them."""
import torch
from torch import nn

import truth

layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(6)).cuda()
kept = []
with torch.no_grad():
    for batch in range(40):
        h = torch.randn(8, 32).cuda()
        for layer in layers:
            h = torch.relu(layer(h))
        kept.append(h.mean(0))  # leaks
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(kept[0])), steps_must_match=True)
