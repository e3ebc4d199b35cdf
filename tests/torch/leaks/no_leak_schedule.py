# SPDX-License-Identifier: MIT
"""Trains with a schedule, and the lower half only from a later step on: no_leak_schedule.py [STEPS]

Gradients and Adam's state exist from a parameter's first training on: for the head from the first step,
for the body from step 6, for the second head, which only every tenth step uses, from step 9.
"""

import torch
from torch import nn

import common

BATCH, WIDTH, UNFREEZE_STEP = 32, 256, 6


def main():
    steps = common.no_leak_steps()
    body = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()).to('cuda').requires_grad_(False)
    head, other_head = nn.Linear(WIDTH, 100).to('cuda'), nn.Linear(WIDTH, 200).to('cuda')
    optimizer = torch.optim.Adam([*head.parameters(), *other_head.parameters()])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 10))
    allocated = []
    for step in range(steps):
        if step == UNFREEZE_STEP:
            optimizer.add_param_group({'params': list(body.requires_grad_(True).parameters()), 'initial_lr': 1e-3})
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
        features = body(torch.randn(BATCH, WIDTH, device='cuda'))
        loss = head(features).square().mean()
        if step % 10 == 9:
            loss = loss + other_head(features).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated)


if __name__ == '__main__':
    main()
