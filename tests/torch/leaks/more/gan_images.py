# SPDX-License-Identifier: MIT
"""Keeps the images of a GAN that trains with two optimizers: gan_images.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    generator = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 784), nn.Tanh()).to('cuda')
    critic = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1)).to('cuda')
    of_generator, of_critic = (torch.optim.Adam(model.parameters(), 2e-4) for model in (generator, critic))
    samples = []
    allocated = []
    for _ in range(steps):
        real = torch.randn(64, 784, device='cuda')
        fake = generator(torch.randn(64, 64, device='cuda'))  # leaks here
        loss = critic(fake.detach()).mean() - critic(real).mean()
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        (-critic(fake).mean()).backward()
        of_generator.step()
        samples.append(fake.detach() if leak else fake[:4].detach().cpu())
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
