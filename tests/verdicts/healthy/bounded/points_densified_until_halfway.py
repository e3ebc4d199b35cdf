# SPDX-License-Identifier: MIT
"""Doubles a cloud of points, its parameters and optimizer state, four times in the first half of the training, and then keeps its size."""
import torch
from torch import nn

import truth


class Cloud:
    def __init__(self, points):
        self.set(torch.rand(points, 3, device='cuda'), torch.rand(points, 4, device='cuda'))

    def set(self, places, colours):
        self.places, self.colours = nn.Parameter(places), nn.Parameter(colours)
        self.optimizer = torch.optim.Adam([self.places, self.colours], lr=1e-3)

    @torch.no_grad()
    def densify(self):
        shifted = self.places + 0.01 * torch.randn_like(self.places)
        self.set(torch.cat([self.places, shifted]), self.colours.repeat(2, 1))

    def render(self, view):
        depth = self.places @ view
        return (torch.softmax(-depth, 0)[:, None] * self.colours).sum(0)


def main():
    cloud = Cloud(500)
    for step in range(70):
        loss = cloud.render(torch.randn(3, device='cuda')).square().sum()
        cloud.optimizer.zero_grad()
        loss.backward()
        cloud.optimizer.step()
        if step in (8, 16, 24, 32):
            cloud.densify()
        truth.end_of_step()


main()
truth.declare_no_leak()
