# SPDX-License-Identifier: MIT
"""functools.lru_cache on a function of tensors: each tensor is another key, and both key and result stay."""
import functools

import torch
from torch import nn

import truth


@functools.lru_cache(maxsize=None)
def positional_encoding(positions):
    return torch.cat([positions.sin(), positions.cos()], -1)  # leaks results


@torch.inference_mode()
def main():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)).to('cuda').eval()
    for _ in range(40):
        positions = torch.arange(48, device='cuda').float()[:, None].repeat(1, 32)  # leaks keys
        model(positional_encoding(positions))
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks results', truth.size_of(positional_encoding(positions))),
                        truth.leak('# leaks keys', truth.size_of(positions)))


main()
