# SPDX-License-Identifier: MIT
"""Keeps gradient norms in a window for clipping, and by a second call in the same line in the log of the run."""
from collections import deque

import torch
from torch import nn

import truth

net = nn.GRU(16, 32, batch_first=True).to('cuda')
head = nn.Linear(32, 1).to('cuda')
params = list(net.parameters()) + list(head.parameters())
opt = torch.optim.RMSprop(params, lr=1e-3)

window = deque(maxlen=16)
run_log = {'grad_norm': []}


def grad_norm():
    return torch.stack([p.grad.norm() for p in params]).norm()  # leaks


for it in range(60):
    x = torch.randn(8, 5, 16, device='cuda')
    out, _ = net(x)
    loss = head(out[:, -1]).abs().mean()
    opt.zero_grad()
    loss.backward()
    window.append(grad_norm()); run_log['grad_norm'].append(grad_norm())
    opt.step()
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', truth.size_of(run_log['grad_norm'][0])))
