# SPDX-License-Identifier: MIT
"""Accumulates gradients over several steps: no_leak_accumulation.py [STEPS]

Gradients and embeddings of a window's steps stay until the window ends, so memory rises and falls like a saw.
"""

import torch
from torch import nn

import common

WINDOW, BATCH, WIDTH = 5, 64, 256


def main():
    steps = common.no_leak_steps()
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters())
    embeddings = []
    allocated = []
    for step in range(steps):
        embedding = model(torch.randn(BATCH, WIDTH, device='cuda'))
        loss = embedding.square().mean() / WINDOW
        loss.backward()
        embeddings.append(embedding.detach())
        if (step + 1) % WINDOW == 0:
            optimizer.step()
            optimizer.zero_grad()
            embeddings.clear()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated)


if __name__ == '__main__':
    main()
