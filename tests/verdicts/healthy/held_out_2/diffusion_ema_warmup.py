# SPDX-License-Identifier: MIT
"""Denoising with warm-up of the learning rate and an average of the weights that begins after 40 steps."""
import math

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import truth

STEPS, WARMUP, EMA_FROM = 130, 25, 40


class Denoiser(nn.Module):
    def __init__(self, d=49, w=128):
        super().__init__()
        self.time = nn.Linear(16, w)
        self.inp, self.mid, self.out = nn.Linear(d, w), nn.Linear(w, w), nn.Linear(w, d)

    def forward(self, x, t):
        phase = t[:, None] * torch.arange(1, 9, device=t.device) * math.pi
        h = self.inp(x) + self.time(torch.cat([phase.sin(), phase.cos()], 1))
        return self.out(nn.functional.silu(self.mid(nn.functional.silu(h))))


model = Denoiser().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / WARMUP))
ema = None
for step in range(STEPS):
    x, t = torch.randn(64, 49, device='cuda'), torch.rand(64, device='cuda')
    noise = torch.randn_like(x)
    noisy = x * (1 - t[:, None]) + noise * t[:, None]
    loss = (model(noisy, t) - noise).pow(2).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step >= EMA_FROM:
        if ema is None:
            ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
        ema.update_parameters(model)
    truth.end_of_step()
truth.declare_no_leak()
