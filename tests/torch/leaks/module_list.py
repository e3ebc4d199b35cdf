# SPDX-License-Identifier: MIT
"""Trains a new member of an ensemble each step and keeps them all: module_list.py [leak|repaired] [STEPS]

Each member leaves its parameters, allocated when it moves to the device, and the gradients of its trained
half, allocated by the backward pass: two thirds and one third of the growth.
"""

import torch
from torch import nn

import common

WIDTH, CLASSES, BATCH = 256, 256, 32


def make_member():
    """Fixed random features, and a head of the same size, which is trained."""
    features = nn.Linear(WIDTH, WIDTH, bias=False).requires_grad_(False)
    return nn.Sequential(features, nn.ReLU(), nn.Linear(WIDTH, CLASSES, bias=False))


def main():
    leak, steps = common.arguments()
    inputs = torch.randn(BATCH, WIDTH, device='cuda')
    labels = torch.zeros(BATCH, dtype=torch.long, device='cuda')
    members = []
    allocated = []
    for _ in range(steps):
        member = make_member().to('cuda')  # leaks here
        loss = nn.functional.cross_entropy(member(inputs), labels)
        loss.backward()  # backward here
        torch.optim.SGD(member.parameters(), lr=0.1).step()
        members = [*members, member] if leak else [member]
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'),
                  backward_line=common.marked_line('# backward here'),
                  parameter_bytes_per_step=sum(p.nbytes for p in member.parameters()),
                  gradient_bytes_per_step=sum(p.grad.nbytes for p in member.parameters() if p.grad is not None))


if __name__ == '__main__':
    main()
