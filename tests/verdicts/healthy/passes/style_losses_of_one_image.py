# SPDX-License-Identifier: MIT
"""Optimizes one image for sixty steps and keeps every tenth intermediate image until the strip of images is saved."""
import torch
from torch import nn

import truth


def gram(features):
    flat = features.flatten(2)[0]
    return flat @ flat.T / flat.numel()


def main():
    extractor = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3)).cuda().requires_grad_(False)
    style = gram(extractor(torch.rand(1, 3, 48, 48).cuda()))
    image = torch.rand(1, 3, 48, 48).cuda().requires_grad_()
    optimizer = torch.optim.Adam([image], lr=0.02)
    strip = []
    for step in range(60):
        loss = (gram(extractor(image)) - style).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            strip.append(image.detach().clone())
        truth.end_of_step()
    torch.cat(strip, 3).cpu()


main()
truth.declare_no_leak()
