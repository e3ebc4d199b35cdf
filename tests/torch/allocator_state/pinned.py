# SPDX-License-Identifier: MIT
"""Leaves one small block in each of six segments. PyTorch cannot release the free rest of the segments."""

import torch

import common

SEGMENTS = 6


def keep():
    return torch.empty(3 << 19, dtype=torch.uint8, device='cuda')


def leave_little():
    kept, thrown_away = [], []
    for _ in range(SEGMENTS):
        thrown_away.append(torch.empty(9 << 20, dtype=torch.uint8, device='cuda'))
        kept.append(keep())
        thrown_away.append(torch.empty(9 << 20, dtype=torch.uint8, device='cuda'))
    return kept


if __name__ == '__main__':
    held = leave_little()
    torch.cuda.empty_cache()
    common.report(held=len(held))
