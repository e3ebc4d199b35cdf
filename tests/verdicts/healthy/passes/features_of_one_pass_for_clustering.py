# SPDX-License-Identifier: MIT
"""Extracts the features of all images in one pass, clusters them on the device, and keeps only the labels on the CPU."""
import torch
from torch import nn

import truth


def k_means(points, k, rounds):
    centres = points[:k].clone()
    for _ in range(rounds):
        nearest = torch.cdist(points, centres).argmin(1)
        centres = torch.zeros_like(centres).index_add_(0, nearest, points) / k
    return nearest.cpu()


def main():
    backbone = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()).cuda().eval()
    features = []
    with torch.no_grad():
        for _ in range(60):
            features.append(backbone(torch.rand(20, 3, 24, 24).cuda()))
            truth.end_of_step()
        labels = k_means(torch.cat(features), 8, 5)
    print(labels.shape)


main()
truth.declare_no_leak()
