# SPDX-License-Identifier: MIT
"""Keeps the results of a checkpointed function, to look at them: checkpoint_kept.py [leak|repaired] [STEPS]

The function runs twice and appends both times. The second run is in the backward pass, on its thread.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import common

BATCH, WIDTH = 64, 256

seen = []


class Block(nn.Module):
    def __init__(self, leak):
        super().__init__()
        self.leak = leak
        self.up = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU())
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        hidden = self.up(x)  # leaks here
        seen.append(hidden.detach() if self.leak else hidden.shape)
        return x + self.down(hidden)


def main():
    leak, steps = common.arguments()
    blocks = nn.ModuleList(Block(leak) for _ in range(3)).to('cuda')
    optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
    allocated = []
    for _ in range(steps):
        x = torch.randn(BATCH, WIDTH, device='cuda')
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        optimizer.zero_grad()
        x.square().mean().backward()
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
