# SPDX-License-Identifier: MIT
"""Holds memory in variables of the module, which the interpreter frees when it ends: memory_at_exit.py freed|killed"""

import json
import os
import sys

import torch
from torch import nn

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64)).cuda()
optimizer = torch.optim.Adam(model.parameters())
kept = [torch.empty(8 << 20, dtype=torch.uint8, device='cuda') for _ in range(4)]
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(64, 256, device='cuda')).square().mean().backward()
    optimizer.step()
torch.cuda.synchronize()
print(json.dumps({'allocated': torch.cuda.memory_allocated(), 'reserved': torch.cuda.memory_reserved()}))
sys.stdout.flush()
if KIND == 'killed':
    os._exit(0)
