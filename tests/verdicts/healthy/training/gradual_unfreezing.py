# SPDX-License-Identifier: MIT
"""Unfreezes one more layer every ten steps, whose gradients and Adam state appear then and stay as long as the model."""
import torch
from torch import nn

import truth

layers = nn.ModuleList(nn.Linear(96, 96) for _ in range(6)).cuda()
head = nn.Linear(96, 5).cuda()
layers.requires_grad_(False)
optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=1e-3)

for step in range(70):
    if step % 10 == 0 and step // 10 < len(layers):
        layers[-1 - step // 10].requires_grad_(True)
    x = torch.randn(32, 96, device='cuda')
    for layer in layers:
        x = torch.relu(layer(x))
    loss = nn.functional.cross_entropy(head(x), torch.randint(5, (32,), device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
