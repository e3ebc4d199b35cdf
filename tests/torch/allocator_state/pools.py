# SPDX-License-Identifier: MIT
"""Allocates and frees at random around the border of the small and the large pool, on two streams."""

import random

import torch

import common

BORDER = 1 << 20


def size(draw):
    if draw.random() < 0.2:
        return BORDER + draw.choice((-512, -1, 0, 1, 512))
    return int(2 ** draw.uniform(0, 24.5))


if __name__ == '__main__':
    draw = random.Random(7)
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    held = []
    for _ in range(4000):
        if held and draw.random() < 0.49:
            held.pop(draw.randrange(len(held)))
        else:
            with torch.cuda.stream(draw.choice(streams)):
                held.append(torch.empty(size(draw), dtype=torch.uint8, device='cuda'))
        if draw.random() < 0.005:
            torch.cuda.empty_cache()
    del held[::3]
    common.report()
