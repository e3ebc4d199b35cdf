# SPDX-License-Identifier: MIT
"""Keeps the scaler's factor of every tenth step as a tensor, next to large temporaries under autocast."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scaler = torch.amp.GradScaler('cuda')
scales = []
for step in range(100):
    images = torch.rand(4, 3, 32, 32, device='cuda')
    with torch.autocast('cuda', dtype=torch.bfloat16):
        loss = nn.functional.l1_loss(model(images), images)
    scaled = scaler.scale(loss)
    optimizer.zero_grad()
    scaled.backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 10 == 0:
        scales.append(scaled.detach() / loss.detach())  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*scales) / 100))
