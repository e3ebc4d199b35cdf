# SPDX-License-Identifier: MIT
"""Keeps the pinned buffers that batches are staged in: pinned.py [leak|repaired] [STEPS]

PyTorch's allocated bytes on the device do not change. The size is a power of two, because PyTorch rounds
pinned memory up to powers of two.
"""

import torch
from torch import nn

import common

BATCH, WIDTH = 1024, 1024


def main():
    leak, steps = common.arguments()
    model = nn.Linear(WIDTH, 10).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    staged = []
    allocated = []
    for _ in range(steps):
        staging = torch.empty(BATCH, WIDTH, pin_memory=True)  # leaks here
        staged = [*staged, staging] if leak else [staging]
        loss = model(staging.to('cuda', non_blocking=True)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'), pinned_bytes_per_step=staging.nbytes)


if __name__ == '__main__':
    main()
