# SPDX-License-Identifier: MIT
"""Makes a new pinned buffer for each batch that it copies to the device, and keeps the old ones."""
import torch
from torch import nn

import truth


def main():
    model = nn.Linear(256, 32).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    staging = []
    for _ in range(40):
        batch = torch.randn(128, 256)
        buffer = torch.empty(128, 256, pin_memory=True)  # leaks
        buffer.copy_(batch)
        staging.append(buffer)
        optimizer.zero_grad()
        model(buffer.to('cuda', non_blocking=True)).abs().mean().backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', staging[0].nbytes))


main()
