# SPDX-License-Identifier: MIT
"""Trains in a thread of an executor and keeps outputs: executor_thread.py [leak|repaired] [STEPS]"""

from concurrent import futures

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    allocated = []

    def train():
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to('cuda')
        optimizer = torch.optim.Adam(model.parameters())
        kept = []
        for _ in range(steps):
            output = model(torch.randn(32, 64, device='cuda'))  # leaks here
            optimizer.zero_grad()
            output.square().mean().backward()
            optimizer.step()
            if leak:
                kept.append(output)
            allocated.append(torch.cuda.memory_allocated())

    with futures.ThreadPoolExecutor(1) as executor:
        executor.submit(train).result()
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
