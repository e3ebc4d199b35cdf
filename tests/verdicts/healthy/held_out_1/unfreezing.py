# SPDX-License-Identifier: MIT
"""Unfreezes one more layer every fifteen steps, so that gradients and moments of Adam come bit by bit."""
import torch
from torch import nn

import truth

layers = nn.ModuleList(nn.Linear(96, 96) for _ in range(6)).cuda()
head = nn.Linear(96, 3).cuda()
for parameter in layers.parameters():
    parameter.requires_grad_(False)
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
frozen = list(layers)

for step in range(140):
    if step and step % 15 == 0 and frozen:
        layer = frozen.pop()
        for parameter in layer.parameters():
            parameter.requires_grad_(True)
        optimizer.add_param_group({'params': layer.parameters(), 'lr': 1e-4})
    x = torch.randn(24, 96, device='cuda')
    for layer in layers:
        x = layer(x).relu()
    loss = nn.functional.cross_entropy(head(x), torch.randint(3, (24,), device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
