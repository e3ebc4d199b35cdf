# SPDX-License-Identifier: MIT
"""Collects a dictionary of losses with their graphs for each batch of an epoch, and replaces it with numbers at the epoch's end."""
from collections import defaultdict

import torch
from torch import nn

import truth

encoder = nn.Linear(128, 32).cuda()
mean, logvar, decoder = nn.Linear(32, 8).cuda(), nn.Linear(32, 8).cuda(), nn.Linear(8, 128).cuda()
modules = nn.ModuleList([encoder, mean, logvar, decoder])
optimizer = torch.optim.Adam(modules.parameters(), lr=3e-4)

log = {}
for epoch in range(3):
    running = defaultdict(list)
    for _ in range(22):
        data = torch.rand(40, 128).cuda()
        hidden = encoder(data).relu()
        mu, sigma = mean(hidden), logvar(hidden)
        latent = mu + torch.randn_like(mu) * (0.5 * sigma).exp()
        reconstruction = nn.functional.mse_loss(decoder(latent), data)
        divergence = -0.5 * (1 + sigma - mu.pow(2) - sigma.exp()).mean()
        optimizer.zero_grad()
        (reconstruction + divergence).backward()
        optimizer.step()
        running['reconstruction'].append(reconstruction)
        running['divergence'].append(divergence)
        truth.end_of_step()
    log[epoch] = {name: torch.stack(values).mean().item() for name, values in running.items()}
del running
truth.declare_no_leak()
