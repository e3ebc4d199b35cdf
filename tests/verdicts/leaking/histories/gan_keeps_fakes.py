# SPDX-License-Identifier: MIT
"""A GAN keeps the fake images of each round for a film of its progress."""
import torch
from torch import nn
import torch.nn.functional as F

import truth


class Generator(nn.Module):
    def __init__(self, latent=16):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 12 * 12), nn.Tanh())

    def forward(self, count):
        noise = torch.randn(count, self.latent, device='cuda')
        return self.net(noise)  # leaks


generator = Generator().cuda()
discriminator = nn.Sequential(nn.Linear(12 * 12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)).cuda()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
film = []
for _ in range(40):
    real = torch.rand(32, 12 * 12, device='cuda')
    fake = generator(32)
    loss_d = F.softplus(discriminator(fake.detach())).mean() + F.softplus(-discriminator(real)).mean()
    optimizer_d.zero_grad()
    loss_d.backward()
    optimizer_d.step()
    loss_g = F.softplus(-discriminator(fake)).mean()
    optimizer_g.zero_grad()
    loss_g.backward()
    optimizer_g.step()
    film.append(fake.detach())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(film[0])))
