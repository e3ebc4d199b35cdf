# SPDX-License-Identifier: MIT
"""Twelve identical blocks and a copy to the device for each batch; a cache keeps each answer."""
import torch
from torch import nn

import truth

model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(12)]).cuda().eval()
answers = {}
with torch.no_grad():
    for request in range(30):
        x = torch.randn(16, 64).cuda()
        answers[request] = model(x)  # leaks
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(answers[0])), steps_must_match=True)
