# SPDX-License-Identifier: MIT
"""Begins to average the weights (SWA) after two thirds of the training, with one more copy of the model from there on."""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel

import truth

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
averaged = scheduler = None
for epoch in range(15):
    for _ in range(4):
        loss = model(torch.randn(30, 64, device='cuda')).pow(2).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    if epoch == 9:
        averaged, scheduler = AveragedModel(model), SWALR(optimizer, swa_lr=0.01)
    elif epoch > 9:
        averaged.update_parameters(model)
        scheduler.step()
truth.declare_no_leak()
