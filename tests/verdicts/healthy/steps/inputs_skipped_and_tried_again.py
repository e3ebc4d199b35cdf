# SPDX-License-Identifier: MIT
"""A loop that skips bad inputs and tries failed ones again, on bare tensors; nothing stays."""
import random

import torch

import truth

random.seed(5)
weight = torch.randn(32, 32, device='cuda')


def work(x):
    h = x @ weight
    if random.random() < 0.2:
        raise RuntimeError('busy')
    return h.relu()


def main():
    done = 0
    while done < 60:
        x = torch.randn(8, 32).cuda()
        if random.random() < 0.1:
            continue
        try:
            y = work(x)
        except RuntimeError:
            y = work_again(x)
        z = y.sum()
        done += 1
        truth.end_of_step()
        del x, y, z


def work_again(x):
    return (x @ weight).relu()


main()
truth.declare_no_leak()
