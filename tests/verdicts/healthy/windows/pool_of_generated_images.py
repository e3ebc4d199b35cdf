# SPDX-License-Identifier: MIT
"""Keeps a pool of up to 50 generated images to show the discriminator old ones too; a full pool swaps an image for a new one."""
import random

import torch
from torch import nn

import truth


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        answer = []
        for image in images.detach():
            if len(self.images) < self.size:
                self.images.append(image.clone())
                answer.append(image)
            elif random.random() < 0.5:
                place = random.randrange(self.size)
                answer.append(self.images[place])
                self.images[place] = image.clone()
            else:
                answer.append(image)
        return torch.stack(answer)


def main():
    random.seed(0)
    generator, critic = nn.Conv2d(1, 1, 3, padding=1).cuda(), nn.Sequential(nn.Flatten(), nn.Linear(256, 1)).cuda()
    optimizers = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
    pool = ImagePool(50)
    for _ in range(50):
        fake = generator(torch.rand(2, 1, 16, 16, device='cuda'))
        for optimizer, loss in ((optimizers[0], -critic(fake).mean()), (optimizers[1], critic(pool.query(fake)).mean())):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
