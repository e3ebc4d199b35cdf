# SPDX-License-Identifier: MIT
"""A model is called for the question and for the answer of each round; scores stay in a list."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 16)).cuda().eval()
scores = []
with torch.no_grad():
    for round_ in range(40):
        a = model(torch.randn(8, 32, device='cuda'))
        b = model(torch.randn(8, 32, device='cuda'))
        scores.append((a * b).sum())  # leaks
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(scores[0])), steps_must_match=True)
