# SPDX-License-Identifier: MIT
"""A sampler stores a small crop of each tenth batch, which keeps the batch of images."""
import torch
from torch import nn

import truth


class CropSampler:
    def __init__(self, every):
        self.every, self.crops = every, []

    def __call__(self, step, images):
        if step % self.every == 0:
            self.crops.append(images[0, :, 4:8, 4:8])


def load():
    return torch.rand(16, 3, 24, 24).to('cuda')  # leaks


def main():
    model = nn.Sequential(nn.Conv2d(3, 4, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(400, 5)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    sampler = CropSampler(every=10)
    for step in range(200):
        images = load()
        loss = model(images).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sampler(step, images)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*sampler.crops) / 200))


main()
