# SPDX-License-Identifier: MIT
"""A GAN: two models, two optimizers, and a moving average of one model's weights."""

import copy

import torch

import held_truth

generator = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
discriminator = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()
average = copy.deepcopy(generator)
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.001)
discriminator_optimizer = torch.optim.RMSprop(discriminator.parameters(), lr=0.001)
real = torch.randn(256, 1024, device='cuda')
for step in range(8):
    discriminator_optimizer.zero_grad()
    fake = generator(torch.randn(256, 256, device='cuda'))
    (discriminator(fake.detach()).mean() - discriminator(real).mean()).backward()
    discriminator_optimizer.step()
    generator_optimizer.zero_grad()
    (-discriminator(fake).mean()).backward()
    generator_optimizer.step()
    del fake
    with torch.no_grad():
        for mean, parameter in zip(average.parameters(), generator.parameters()):
            mean.lerp_(parameter, 0.1)
held = held_truth.tensors_of_optimizers(generator_optimizer, discriminator_optimizer)
held['parameters'] += average.parameters()
held_truth.declare(**held, inputs=[real])
