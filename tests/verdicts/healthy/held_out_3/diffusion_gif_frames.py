# SPDX-License-Identifier: MIT
"""Diffusion sampling that gathers all the steps of one image for an animation. The frames go to the CPU when the image is done."""
import torch
from torch import nn

import truth


class Denoiser(nn.Module):
    def __init__(self, width=3 * 24 * 24):
        super().__init__()
        self.time = nn.Embedding(50, 64)
        self.net = nn.Sequential(nn.Linear(width + 64, 256), nn.SiLU(), nn.Linear(256, width))

    def forward(self, x, t):
        flat = x.flatten(1)
        return self.net(torch.cat([flat, self.time(t).expand(len(flat), -1)], dim=1)).view_as(x)


class Sampler:
    def __init__(self, model, steps=36):
        self.model = model
        betas = torch.linspace(1e-4, 0.02, steps)
        self.alphas = (1 - betas).tolist()
        self.products = (1 - betas).cumprod(0).tolist()
        self.steps = steps

    @torch.no_grad()
    def sample(self, count):
        x = torch.randn(count, 3, 24, 24, device='cuda')
        frames = [x]
        for t in reversed(range(self.steps)):
            noise = self.model(x, torch.full((1,), t, device='cuda'))
            x = (x - (1 - self.alphas[t]) / (1 - self.products[t]) ** 0.5 * noise) / self.alphas[t] ** 0.5
            if t:
                x = x + (1 - self.alphas[t]) ** 0.5 * torch.randn_like(x)
            frames.append(x)
            truth.end_of_step()
        return torch.stack(frames).clamp(-1, 1).mul(127.5).add(127.5).to(torch.uint8).cpu()


sampler = Sampler(Denoiser().cuda().eval())
gifs = []
for prompt in range(5):
    gifs.append(sampler.sample(4))
print([tuple(gif.shape) for gif in gifs])
truth.end_of_step()
truth.declare_no_leak()
