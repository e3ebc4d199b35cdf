# SPDX-License-Identifier: MIT
"""Makes blocks of many sizes and frees every second block, so that the free memory is fragmented."""

import torch

import common


def fill(sizes):
    return [torch.empty(size, dtype=torch.uint8, device='cuda') for size in sizes]


if __name__ == '__main__':
    small = fill(512 * (1 + 37 * i % 900) for i in range(400))
    middle = fill((1 << 20) + 70000 * (i % 90) for i in range(60))
    large = fill((11 << 20) + 1300000 * i for i in range(12))
    del small[::2], middle[::2], large[::2]
    common.report(held=len(small) + len(middle) + len(large))
