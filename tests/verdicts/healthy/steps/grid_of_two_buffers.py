# SPDX-License-Identifier: MIT
"""A simulation on a grid with two buffers that take turns."""
import torch

import truth

grid = torch.randn(64, 64, device='cuda')
for step in range(150):
    new = grid + 0.1 * (torch.roll(grid, 1, 0) + torch.roll(grid, -1, 0)
                        + torch.roll(grid, 1, 1) + torch.roll(grid, -1, 1)
                        - 4 * grid)
    grid = new
    truth.end_of_step()
del grid, new
truth.declare_no_leak(steps_must_match=True)
