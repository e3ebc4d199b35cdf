# SPDX-License-Identifier: MIT
"""Mixed precision with gradient accumulation: four micro-batches a step, whose losses are summed detached."""
import torch
from torch import nn

import truth

ACCUMULATE = 4
model = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 50)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
scaler = torch.amp.GradScaler('cuda', init_scale=1024.0)
average = 0.0
micro_losses = []
for step in range(60):
    for micro in range(ACCUMULATE):
        x = torch.randn(16, 128, device='cuda')
        y = torch.randint(50, (16,), device='cuda')
        with torch.autocast('cuda', dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y) / ACCUMULATE
        scaler.scale(loss).backward()
        micro_losses.append(loss.detach())
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if (step + 1) % 10 == 0:   # to save synchronizations
        average = torch.stack(micro_losses).mean().item()
        micro_losses = []
        print(step + 1, average)
    truth.end_of_step()
truth.declare_no_leak()
