# SPDX-License-Identifier: MIT
"""The discriminator of a translation model draws from a pool of all earlier fakes. Each round adds half a batch."""
import random

import torch
from torch import nn

import truth


class ImagePool:
    def __init__(self, limit=None):
        self.limit, self.images = limit, []

    def exchange(self, fakes):
        kept = fakes[: len(fakes) // 2].detach().clone()  # leaks
        self.images.append(kept)
        if self.limit and len(self.images) > self.limit:
            self.images.pop(0)
        return torch.cat([random.choice(self.images), fakes[len(fakes) // 2:]])


def main():
    translate = nn.Conv2d(3, 3, 3, padding=1).cuda()
    judge = nn.Sequential(nn.Conv2d(3, 6, 4, stride=2), nn.ReLU(), nn.Conv2d(6, 1, 3)).cuda()
    optimizers = [torch.optim.RMSprop(module.parameters(), lr=1e-4) for module in (translate, judge)]
    pool = ImagePool()
    for _ in range(30):
        fakes = translate(torch.rand(4, 3, 16, 16, device='cuda'))
        loss = -judge(fakes).mean()
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
        loss = judge(pool.exchange(fakes.detach())).mean()
        optimizers[1].zero_grad()
        loss.backward()
        optimizers[1].step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(pool.images[0])))


main()
