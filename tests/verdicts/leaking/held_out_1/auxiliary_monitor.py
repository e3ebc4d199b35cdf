# SPDX-License-Identifier: MIT
"""Watches an auxiliary head through a running sum, whose graph nothing ever goes back through."""
import torch
from torch import nn

import truth

trunk = nn.Sequential(nn.Linear(50, 120), nn.ReLU()).cuda()
main_head = nn.Linear(120, 1).cuda()
aux_head = nn.Linear(120, 30).cuda()
parameters = [p for module in (trunk, main_head, aux_head) for p in module.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.01)
aux_total = torch.zeros((), device='cuda')

for step in range(70):
    x = torch.randn(40, 50, device='cuda')
    hidden = trunk(x)  # hidden leaks
    loss = main_head(hidden).square().mean()
    aux = aux_head(hidden)  # aux leaks
    aux_total = aux_total + aux.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()

truth.declare_leaks(truth.leak('# hidden leaks', truth.size_of(hidden)), truth.leak('# aux leaks', truth.size_of(aux)))
