# SPDX-License-Identifier: MIT
"""Evaluates a model with gradients on, and keeps its outputs: eval_outputs.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common

BATCH, WIDTH, CLASSES = 128, 512, 10


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(
        nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, CLASSES), nn.Softmax(dim=-1),
    ).to('cuda').eval()
    batches = [torch.randn(BATCH, WIDTH, device='cuda') for _ in range(4)]
    outputs = []
    allocated = []
    for step in range(steps):
        with torch.set_grad_enabled(leak):
            output = model(batches[step % len(batches)])  # leaks here
        outputs.append(output if leak else output.cpu())
        allocated.append(torch.cuda.memory_allocated())
    print('predictions:', len(torch.cat(outputs).argmax(dim=-1)))
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
