# SPDX-License-Identifier: MIT
"""A curriculum keeps the soft labels of its first three steps, and of all steps from 151 of 200 on."""
import torch
from torch import nn

import truth

teacher = nn.Linear(12, 32).cuda().requires_grad_(False)
student = nn.Linear(12, 32).cuda()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
kept = []
for step in range(200):
    x = torch.randn(24, 12, device='cuda')
    soft = teacher(x).softmax(-1)  # leaks
    loss = nn.functional.cross_entropy(student(x), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step >= 151 or step < 3:
        kept.append(soft)
    truth.end_of_step()
late = kept[-49:]
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*late) / len(late), first_step=151))
