# SPDX-License-Identifier: MIT
"""A function that calls itself closes over each batch's scores, and the garbage collector is off for speed."""
import gc

import torch
from torch import nn

import truth


def rank(scores, depth):
    best = scores.softmax(-1)  # leaks

    def search(level):
        return best[level] if level == depth else search(level + 1)
    return search(0)


@torch.no_grad()
def main():
    gc.disable()
    scorer = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 48)).cuda().eval()
    for query in range(50):
        candidates = torch.randn(40, 16, device='cuda')
        rank(scorer(candidates), depth=5)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.held_growth(3)))


main()
