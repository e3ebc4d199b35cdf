# SPDX-License-Identifier: MIT
"""Trains a critic with gradient penalty five times for each step of the generator, and samples a fixed noise now and then."""
import torch
from torch import nn

import truth


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1, device='cuda')
    middle = (mix * real + (1 - mix) * fake).requires_grad_(True)
    slope, = torch.autograd.grad(critic(middle).sum(), middle, create_graph=True)
    return (slope.norm(2, dim=1) - 1).square().mean()


def main():
    generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64)).to('cuda')
    critic = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 1)).to('cuda')
    optimizers = [torch.optim.RMSprop(net.parameters(), lr=5e-5) for net in (generator, critic)]
    fixed_noise = torch.randn(16, 8, device='cuda')
    samples = None
    for step in range(30):
        for _ in range(5):
            real = torch.rand(20, 64, device='cuda')
            fake = generator(torch.randn(20, 8, device='cuda')).detach()
            loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, real, fake)
            optimizers[1].zero_grad()
            loss.backward()
            optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(generator(torch.randn(20, 8, device='cuda'))).mean()).backward()
        optimizers[0].step()
        if step % 10 == 0:
            samples = generator(fixed_noise).detach()
        truth.end_of_step()
    return samples


main()
truth.declare_no_leak()
