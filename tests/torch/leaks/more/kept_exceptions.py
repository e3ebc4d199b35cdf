# SPDX-License-Identifier: MIT
"""Keeps exceptions, whose frames hold tensors: kept_exceptions.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')
    optimizer = torch.optim.Adam(model.parameters())
    errors = []
    allocated = []

    def attempt(flaky):
        inputs = torch.randn(32, 64, device='cuda')
        output = model(inputs)  # leaks here
        if flaky:
            raise RuntimeError('flaky')
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()

    for _ in range(steps):
        for flaky in (True, False):
            try:
                attempt(flaky)
            except RuntimeError as error:
                errors.append(error if leak else str(error))
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
