# SPDX-License-Identifier: MIT
"""Keeps a workspace for each shape of a batch, where the number of points in a batch differs all the time."""
import torch
from torch import nn

import truth


class Workspaces(dict):
    def get_for(self, points):
        shape = (points.shape[0], 64)
        if shape not in self:
            self[shape] = points.new_zeros(shape)  # leaks
        return self[shape]


def main():
    net = nn.Sequential(nn.Linear(3, 64), nn.ReLU()).cuda().eval()
    workspaces = Workspaces()
    for scan in range(60):
        count = 300 + (scan * 37) % 60
        points = torch.randn(count, 3, device='cuda')
        with torch.no_grad():
            workspaces.get_for(points).add_(net(points))
        truth.end_of_step()
    assert len(workspaces) == 60
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*workspaces.values()) / 60))


main()
