# SPDX-License-Identifier: MIT
"""Four small batches for each step of the optimizer; their losses are held until the step."""
import torch
from torch import nn

import truth

MICRO_BATCHES = 4

encoder = nn.TransformerEncoderLayer(48, 4, dim_feedforward=96, dropout=0.0, batch_first=True).to('cuda')
classifier = nn.Linear(48, 5).to('cuda')
parameters = list(encoder.parameters()) + list(classifier.parameters())
optimizer = torch.optim.AdamW(parameters, lr=2e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)

losses = []
for micro in range(40 * MICRO_BATCHES):
    tokens = torch.randn(6, 10, 48, device='cuda')
    labels = torch.randint(5, (6,), device='cuda')
    loss = nn.functional.cross_entropy(classifier(encoder(tokens)[:, 0]), labels)
    (loss / MICRO_BATCHES).backward()
    losses.append(loss)
    if (micro + 1) % MICRO_BATCHES == 0:
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        mean = torch.stack(losses).mean().item()
        losses.clear()
        truth.end_of_step()
truth.declare_no_leak()
