# SPDX-License-Identifier: MIT
"""Minimises by a quasi-Newton method that keeps the last 50 steps and differences of gradients, which fill up in 50 of 80 steps."""
from collections import deque

import torch

import truth


class LimitedMemory:
    def __init__(self, size):
        self.steps, self.changes = deque(maxlen=size), deque(maxlen=size)
        self.point = self.gradient = None

    def direction(self, point, gradient):
        if self.point is not None:
            self.steps.append(point - self.point)
            self.changes.append(gradient - self.gradient)
        self.point, self.gradient = point.clone(), gradient.clone()
        q, factors = gradient.clone(), []
        for step, change in zip(reversed(self.steps), reversed(self.changes)):
            factor = (step @ q) / (change @ step + 1e-6)
            q -= factor * change
            factors.append(factor)
        for step, change, factor in zip(self.steps, self.changes, reversed(factors)):
            q += (factor - (change @ q) / (change @ step + 1e-6)) * step
        return -q


def main():
    matrix, target = torch.randn(400, 300, device='cuda'), torch.randn(400, device='cuda')
    weights = torch.zeros(300, device='cuda')
    memory = LimitedMemory(50)
    for _ in range(80):
        gradient = matrix.T @ (matrix @ weights - target) / 400
        weights = weights + 0.1 * memory.direction(weights, gradient)
        truth.end_of_step()


main()
truth.declare_no_leak()
