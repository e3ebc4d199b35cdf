# SPDX-License-Identifier: MIT
"""Trains a student on the outputs of a frozen teacher. The teacher computes new outputs for each batch."""
import torch
from torch import nn

import truth

teacher = nn.Sequential(nn.Linear(60, 300), nn.ReLU(), nn.Linear(300, 10)).cuda().eval().requires_grad_(False)
student = nn.Sequential(nn.Linear(60, 20), nn.ReLU(), nn.Linear(20, 10)).cuda()
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
temperature = 2.0
for _ in range(40):
    x = torch.randn(48, 60).to('cuda')
    with torch.no_grad():
        soft = nn.functional.softmax(teacher(x) / temperature, dim=1)
    loss = nn.functional.kl_div((student(x) / temperature).log_softmax(1), soft, reduction='batchmean') * temperature ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
