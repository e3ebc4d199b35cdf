# SPDX-License-Identifier: MIT
"""Puts each fifth entry of a window into a list of hard examples too, where it stays."""
from collections import deque

import torch
from torch import nn

import truth


def augment(images):
    return images + 0.1 * torch.randn_like(images)  # leaks


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 32), nn.ReLU(), nn.Linear(32, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    window = deque(maxlen=6)
    hard = []
    for step in range(60):
        images = torch.rand(8, 3, 16, 16, device='cuda')
        window.append(augment(images))
        if step % 5 == 0:
            hard.append(window[-1])
        loss = sum(model(old).logsumexp(1).mean() for old in window)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*hard) / 60))


main()
