# SPDX-License-Identifier: MIT
"""Sequential networks in each other, all of equal layers; each answer is freed."""
import torch
from torch import nn

import truth


def stack(n):
    return nn.Sequential(*[nn.Linear(32, 32) for _ in range(n)])


model = nn.Sequential(stack(3), stack(3), stack(3)).cuda().eval()
with torch.no_grad():
    for batch in range(25):
        x = torch.randn(4, 32, device='cuda')
        y = model(x)
        del x, y
        truth.end_of_step()
truth.declare_no_leak(steps_must_match=True)
