# SPDX-License-Identifier: MIT
"""Keeps a uniform sample of 30 examples of a stream; replacements become rare, so that its tensors are of any age."""
import random

import torch
from torch import nn

import truth

random.seed(8)
reservoir = []
model = nn.Linear(256, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for seen in range(80):
    example = torch.randn(1, 256, device='cuda')
    if len(reservoir) < 30:
        reservoir.append(example)
    elif (place := random.randrange(seen + 1)) < 30:
        reservoir[place] = example
    batch = torch.cat([example, random.choice(reservoir)])
    loss = model(batch).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
