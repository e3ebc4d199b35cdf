# SPDX-License-Identifier: MIT
"""A GAN: two models, two optimizers, and a moving average of one model's weights."""

import copy

import torch

import truth

generator = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
judge = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()
average = copy.deepcopy(generator)
makes = torch.optim.Adam(generator.parameters(), lr=0.001)
judges = torch.optim.RMSprop(judge.parameters(), lr=0.001)
real = torch.randn(256, 1024, device='cuda')
for step in range(8):
    judges.zero_grad()
    fake = generator(torch.randn(256, 256, device='cuda'))
    (judge(fake.detach()).mean() - judge(real).mean()).backward()
    judges.step()
    makes.zero_grad()
    (-judge(fake).mean()).backward()
    makes.step()
    del fake
    with torch.no_grad():
        for mean, parameter in zip(average.parameters(), generator.parameters()):
            mean.lerp_(parameter, 0.1)
held = truth.of_optimizers(makes, judges)
held['parameters'] += average.parameters()
truth.declare(**held, inputs=[real])
