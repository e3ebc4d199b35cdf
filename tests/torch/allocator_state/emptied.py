# SPDX-License-Identifier: MIT
"""Calls empty_cache() in each step, so that PyTorch requests the same memory from the driver again in each step."""

import torch
from torch import nn

import common

STEPS = 6
BYTES = 32 << 20


def train():
    model = nn.Linear(64, 64).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    given = []
    for _ in range(STEPS):
        loss = model(torch.ones(16, 64, device='cuda')).sum()
        scratch = torch.empty(BYTES, dtype=torch.uint8, device='cuda')
        del scratch
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del loss
        before = torch.cuda.memory_reserved()
        torch.cuda.empty_cache()
        given.append(before - torch.cuda.memory_reserved())
    return model, given


if __name__ == '__main__':
    trained, given_back = train()
    common.report(given_back=given_back)
