# SPDX-License-Identifier: MIT
"""Keeps the image of every denoising step of one sampling, joins them into a film on the CPU, and drops them before the next."""
import torch
from torch import nn

import truth

denoiser = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1)).to('cuda')


@torch.no_grad()
def sample(steps):
    image = torch.randn(2, 3, 32, 32, device='cuda')
    frames = [image]
    for step in reversed(range(steps)):
        noise = denoiser(image)
        image = image - noise / steps + 0.1 * torch.randn_like(image) * (step > 0)
        frames.append(image)
        truth.end_of_step()
    return torch.stack(frames).clamp(-1, 1).cpu()


films = [sample(steps) for steps in (30, 30)]
truth.declare_no_leak()
