# SPDX-License-Identifier: MIT
"""Gradient descent by hand on a tensor, where each new point is a new tensor and the path keeps them."""
import torch

import truth


def rosenbrock(points):
    return (1 - points[:-1]).square().sum() + 100 * (points[1:] - points[:-1].square()).square().sum()


def main():
    points = torch.zeros(500, device='cuda')
    path = [points]
    for _ in range(60):
        points = points.detach().requires_grad_()
        rosenbrock(points).backward()
        with torch.no_grad():
            points = points - 1e-3 * points.grad  # leaks
        path.append(points)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(points)))


main()
