# SPDX-License-Identifier: MIT
"""Scores three test sets and keeps the outputs of a set until it prints the score. The last set is the largest."""
import torch
from torch import nn

import truth

sets = {'easy': 10, 'medium': 18, 'hard': 40}
model = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 24)).cuda().eval()
for name, batches in sets.items():
    outputs = []
    for _ in range(batches):
        with torch.no_grad():
            outputs.append(model(torch.randn(32, 48, device='cuda')))
        truth.end_of_step()
    print(name, torch.cat(outputs).softmax(1).amax(1).mean().item())
    outputs.clear()
truth.declare_no_leak()
