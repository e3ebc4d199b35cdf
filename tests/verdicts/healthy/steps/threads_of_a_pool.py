# SPDX-License-Identifier: MIT
"""Three threads answer requests with functions on shared weights, and keep nothing."""
from concurrent.futures import ThreadPoolExecutor

import torch

import truth

weight = torch.randn(64, 64, device='cuda')


def answer(number):
    x = torch.full((4, 64), float(number)).cuda()
    y = torch.relu(x @ weight)
    return (y @ weight).argmax(-1).tolist()


with ThreadPoolExecutor(3) as pool:
    for result in pool.map(answer, range(60)):
        truth.end_of_step()
truth.declare_no_leak(steps_must_match=True)
