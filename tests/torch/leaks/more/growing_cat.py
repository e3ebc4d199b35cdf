# SPDX-License-Identifier: MIT
"""Appends predictions to a tensor on the device: growing_cat.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 256)).to('cuda').eval()
    device = 'cuda' if leak else 'cpu'
    predictions = torch.empty(0, 256, device=device)
    allocated = []
    with torch.no_grad():
        for _ in range(steps):
            output = model(torch.randn(32, 64, device='cuda'))
            predictions = torch.cat([predictions, output.to(device)])  # leaks here
            allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
