# SPDX-License-Identifier: MIT
"""Caches a layer's activations by step, by a forward hook: activation_cache.py [leak|repaired] [STEPS]"""

import torch
from torch import nn

import common

BATCH, WIDTH = 128, 256

cache = {}


def main():
    leak, steps = common.arguments()
    model = nn.Sequential(nn.Linear(32, WIDTH), nn.GELU(), nn.Linear(WIDTH, 10)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters())
    step = 0

    def remember(module, arguments, output):
        cache[step if leak else 'newest'] = output.detach()

    model[1].register_forward_hook(remember)
    allocated = []
    for step in range(steps):
        inputs = torch.randn(BATCH, 32, device='cuda')
        labels = torch.zeros(BATCH, dtype=torch.long, device='cuda')
        logits = model(inputs)  # leaks here
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
