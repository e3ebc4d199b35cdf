# SPDX-License-Identifier: MIT
"""Keeps one number a step among big activations: small_under_churn.py [leak|repaired] [STEPS]

The norm of the gradients is a tensor with one number. It takes 512 bytes, the smallest block of PyTorch,
in each step. Every step also allocates and frees more than 100 MiB.
"""

import torch
from torch import nn

import common

BATCH, WIDTH, CLASSES = 4096, 1024, 64


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(
        nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, CLASSES),
    ).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters())
    norms = []
    allocated = []
    for _ in range(steps):
        inputs = torch.randn(BATCH, WIDTH, device='cuda')
        labels = torch.zeros(BATCH, dtype=torch.long, device='cuda')
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # leaks here
        optimizer.step()
        norms.append(norm if leak else norm.item())
        allocated.append(torch.cuda.memory_allocated())
    print('largest norm:', float(max(norms)))
    common.report(allocated, expected_line=common.marked_line('# leaks here'),
                  churn_bytes_per_step=torch.cuda.memory_stats()['allocated_bytes.all.freed'] // steps)


if __name__ == '__main__':
    main()
