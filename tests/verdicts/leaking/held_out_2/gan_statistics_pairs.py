# SPDX-License-Identifier: MIT
"""Small GAN; one statement keeps, at every step, the generator's samples and the softened scores of the critic."""
import torch
from torch import nn
import truth

Z, D, B = 8, 64, 48
G = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, D)).cuda()
C = nn.Sequential(nn.Linear(D, 64), nn.LeakyReLU(0.2), nn.Linear(64, 32)).cuda()
opt = torch.optim.Adam([*G.parameters(), *C.parameters()], lr=2e-4, betas=(0.5, 0.9))

collected = []
for step in range(75):
    real = torch.randn(B, D, device='cuda')
    fake = G(torch.randn(B, Z, device='cuda'))
    score = C(fake)
    loss = C(real).mean() - score.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    collected.append((fake.detach().clamp(-3, 3), score.detach().div(0.7).sigmoid()))  # leaks
    if step % 20 == 0:
        print(f'[{step:3d}] {loss.item():+.3f}')
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*collected[0])))
