# SPDX-License-Identifier: MIT
"""CycleGAN with two optimizers and pools of 40 earlier fakes for the discriminators. The pools are full after 20 of 140 steps."""
import itertools
import random

import torch
from torch import nn

import truth

random.seed(1)


class ImagePool:
    def __init__(self, size=40):
        self.size, self.images = size, []

    def query(self, images):
        result = []
        for image in images.detach().split(1):
            if len(self.images) < self.size:
                self.images.append(image.clone())
                result.append(image)
            elif random.random() < 0.5:
                index = random.randrange(self.size)
                old, self.images[index] = self.images[index], image.clone()
                result.append(old)
            else:
                result.append(image)
        return torch.cat(result)


def generator():
    return nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.InstanceNorm2d(12), nn.ReLU(), nn.Conv2d(12, 3, 3, padding=1), nn.Tanh()).cuda()


def discriminator():
    return nn.Sequential(nn.Conv2d(3, 12, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(12, 1, 4, 1, 1)).cuda()


g_ab, g_ba, d_a, d_b = generator(), generator(), discriminator(), discriminator()
pool_a, pool_b = ImagePool(), ImagePool()
g_optimizer = torch.optim.Adam(itertools.chain(g_ab.parameters(), g_ba.parameters()), lr=2e-4, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(itertools.chain(d_a.parameters(), d_b.parameters()), lr=2e-4, betas=(0.5, 0.999))


def adversarial(score, real):
    return nn.functional.mse_loss(score, torch.full_like(score, float(real)))


for step in range(140):
    a, b = torch.rand(2, 3, 24, 24).cuda(), torch.rand(2, 3, 24, 24).cuda()
    fake_b, fake_a = g_ab(a), g_ba(b)
    cycle = nn.functional.l1_loss(g_ba(fake_b), a) + nn.functional.l1_loss(g_ab(fake_a), b)
    g_optimizer.zero_grad()
    (adversarial(d_b(fake_b), True) + adversarial(d_a(fake_a), True) + 10 * cycle).backward()
    g_optimizer.step()
    d_optimizer.zero_grad()
    for d, real, fake in ((d_a, a, pool_a.query(fake_a)), (d_b, b, pool_b.query(fake_b))):
        (0.5 * (adversarial(d(real), True) + adversarial(d(fake), False))).backward()
    d_optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
