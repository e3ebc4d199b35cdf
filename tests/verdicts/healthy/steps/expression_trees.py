# SPDX-License-Identifier: MIT
"""Evaluates random expression trees recursively on the device; each tree is freed when its value is known."""
import random

import torch

import truth

random.seed(2)


def evaluate(depth):
    if depth == 0:
        return torch.randn(256, device='cuda')
    left = evaluate(depth - 1)
    right = evaluate(depth - random.choice([1, depth]))
    return torch.sin(left) + right


for tree in range(40):
    value = evaluate(4).mean().item()
    truth.end_of_step()
truth.declare_no_leak()
