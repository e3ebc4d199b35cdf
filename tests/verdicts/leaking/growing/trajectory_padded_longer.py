# SPDX-License-Identifier: MIT
"""A manual descent pads the tensor of its trajectory by one point in each step."""
import torch
import torch.nn.functional as F

import truth


class Descent(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {'lr': lr})
        self.path = torch.zeros(0, 256, device='cuda')

    @torch.no_grad()
    def step(self):
        point, = self.param_groups[0]['params']
        point -= self.param_groups[0]['lr'] * point.grad
        longer = F.pad(self.path, (0, 0, 0, 1))  # leaks
        longer[-1] = point
        self.path = longer


def main():
    point = torch.ones(256, device='cuda', requires_grad=True)
    optimizer = Descent([point], lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        value = (point.square() + point.cos()).sum()
        value.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(optimizer.path) / 60))


main()
