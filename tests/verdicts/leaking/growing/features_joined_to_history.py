# SPDX-License-Identifier: MIT
"""Joins each batch's features to one tensor with torch.cat, and fits a line of LBFGS to them."""
import torch
from torch import nn

import truth

model = nn.Linear(16, 16).cuda()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2, history_size=3)
history = torch.empty(0, 16, device='cuda')
for _ in range(40):
    x = torch.randn(32, 16, device='cuda')

    def closure():
        optimizer.zero_grad()
        loss = (model(x) - x).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    history = torch.cat([history, model(x).detach()])  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(history) / 40))
