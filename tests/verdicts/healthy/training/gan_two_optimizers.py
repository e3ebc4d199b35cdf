# SPDX-License-Identifier: MIT
"""Trains generator and discriminator by turns with an optimizer each; nothing of a round outlives it."""
import torch
from torch import nn

import truth

generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 100)).cuda()
discriminator = nn.Sequential(nn.Linear(100, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).cuda()
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
for _ in range(40):
    real = torch.rand(32, 100, device='cuda')
    fake = generator(torch.randn(32, 16, device='cuda'))

    discriminator_optimizer.zero_grad()
    loss_d = criterion(discriminator(real), torch.ones(32, 1, device='cuda'))
    loss_d = loss_d + criterion(discriminator(fake.detach()), torch.zeros(32, 1, device='cuda'))
    loss_d.backward()
    discriminator_optimizer.step()

    generator_optimizer.zero_grad()
    loss_g = criterion(discriminator(fake), torch.ones(32, 1, device='cuda'))
    loss_g.backward()
    generator_optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
