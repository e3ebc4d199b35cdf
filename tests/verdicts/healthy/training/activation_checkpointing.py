# SPDX-License-Identifier: MIT
"""Recomputes the activations of each block in the backward pass, so that only the inputs of blocks live between the passes."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import truth

blocks = nn.ModuleList(nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)) for _ in range(4)).cuda()
optimizer = torch.optim.AdamW(blocks.parameters())
for _ in range(30):
    x = torch.randn(64, 128, device='cuda', requires_grad=True)
    for block in blocks:
        x = x + checkpoint(block, x, use_reentrant=False)
    optimizer.zero_grad()
    x.square().mean().backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
