# SPDX-License-Identifier: MIT
"""A denoiser with an average of its weights, renewed out of place at every step."""
import torch
from torch import nn

import truth


class Denoiser(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.enter = nn.Conv2d(1, channels, 3, padding=1)
        self.time = nn.Linear(1, channels)
        self.leave = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x, t):
        return self.leave(nn.functional.silu(self.enter(x) + self.time(t)[:, :, None, None]))


def averaged(average, model, decay=0.98):
    return {name: decay * average[name] + (1 - decay) * value.detach() for name, value in model.named_parameters()}


model = Denoiser().cuda()
average = {name: value.detach().clone() for name, value in model.named_parameters()}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(90):
    clean = torch.rand(6, 1, 12, 12, device='cuda')
    t = torch.rand(6, 1, device='cuda')
    noise = torch.randn_like(clean)
    noisy = (1 - t)[:, :, None, None] * clean + t[:, :, None, None] * noise
    loss = nn.functional.mse_loss(model(noisy, t), noise)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    average = averaged(average, model)
    truth.end_of_step()
truth.declare_no_leak()
