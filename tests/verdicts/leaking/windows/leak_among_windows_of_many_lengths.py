# SPDX-License-Identifier: MIT
"""Monitors with windows of 4, 9, 16 and 30 steps are bounded, and a fifth one has forgotten its limit."""
from collections import deque

import torch
from torch import nn

import truth


class Monitor:
    def __init__(self, length=None):
        self.values = deque(maxlen=length)


class LossMonitor(Monitor):
    def see(self, model, loss, out):
        self.values.append(loss.detach().clone())


class NormMonitor(Monitor):
    def see(self, model, loss, out):
        self.values.append(torch.linalg.vector_norm(model[0].weight.detach(), dim=1))


class OutputMonitor(Monitor):
    def see(self, model, loss, out):
        self.values.append(out.detach().abs())  # leaks


class GradientMonitor(Monitor):
    def see(self, model, loss, out):
        self.values.append(model[-1].weight.grad.clone())


model = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 20)).cuda()
optimizer = torch.optim.Adam(model.parameters())
monitors = [LossMonitor(4), NormMonitor(9), GradientMonitor(16), LossMonitor(30), OutputMonitor()]
for _ in range(60):
    out = model(torch.randn(48, 10, device='cuda'))
    loss = out.square().mean()
    optimizer.zero_grad()
    loss.backward()
    for monitor in monitors:
        monitor.see(model, loss, out)
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(monitors[-1].values[0])))
