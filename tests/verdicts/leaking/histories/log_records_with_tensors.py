# SPDX-License-Identifier: MIT
"""A memory handler holds log records whose arguments are tensors."""
import logging
import logging.handlers

import torch
from torch import nn

import truth

logger = logging.getLogger('training')
logger.setLevel(logging.DEBUG)
logger.addHandler(logging.handlers.MemoryHandler(capacity=10_000, flushLevel=logging.ERROR))
logger.propagate = False

model = nn.Sequential(nn.Linear(40, 40), nn.Softplus(), nn.Linear(40, 40)).cuda()
optimizer = torch.optim.Rprop(model.parameters())
for step in range(40):
    x = torch.randn(20, 40, device='cuda')
    optimizer.zero_grad()
    (model(x) - x).square().mean().backward()
    logger.debug('step %d: gradient %s', step, model[0].weight.grad.norm(dim=1))  # leaks
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(model[0].bias)))
