# SPDX-License-Identifier: MIT
"""Begins a new averaged model with each cycle of the learning rate and keeps the old ones."""
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

import truth

net = nn.Sequential(nn.Linear(50, 80), nn.Hardtanh(), nn.Linear(80, 50)).to('cuda')
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=3)
averaged = []
for step in range(60):
    if step % 6 == 0:
        averaged.append(AveragedModel(net))  # leaks
    x = torch.randn(25, 50, device='cuda')
    loss = nn.functional.smooth_l1_loss(net(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    averaged[-1].update_parameters(net)
    truth.end_of_step()
copied = [*averaged[0].parameters(), *(buffer for buffer in averaged[0].buffers() if buffer.is_cuda)]
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*copied) / 6))
