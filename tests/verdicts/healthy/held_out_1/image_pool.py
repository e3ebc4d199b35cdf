# SPDX-License-Identifier: MIT
"""A GAN with a pool of forty earlier pictures for its discriminator."""
import random

import torch
from torch import nn

import truth


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        result = []
        for image in images:
            if len(self.images) < self.size:
                self.images.append(image.clone())
                result.append(image)
            elif random.random() < 0.5:
                place = random.randrange(self.size)
                result.append(self.images[place].clone())
                self.images[place] = image.clone()
            else:
                result.append(image)
        return torch.stack(result)


def main():
    random.seed(1)
    bce = nn.BCEWithLogitsLoss()
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 256), nn.Tanh()).cuda()
    discriminator = nn.Sequential(nn.Linear(256, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).cuda()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    pool = ImagePool(40)
    ones, zeros = torch.ones(4, 1, device='cuda'), torch.zeros(4, 1, device='cuda')
    for _ in range(80):
        fake = generator(torch.randn(4, 16, device='cuda'))
        optimizer_g.zero_grad()
        bce(discriminator(fake), ones).backward()
        optimizer_g.step()
        optimizer_d.zero_grad()
        real = torch.rand(4, 256, device='cuda')
        (bce(discriminator(real), ones) + bce(discriminator(pool.query(fake.detach())), zeros)).backward()
        optimizer_d.step()
        truth.end_of_step()
    truth.declare_no_leak()


if __name__ == '__main__':
    main()
