# SPDX-License-Identifier: MIT
"""Trains until a scheduler kills the job, without a warning: killed.py"""

import os
import signal

import torch
from torch import nn

STEPS, KILLED_AFTER, DEVICE = 100, 40, 'cuda'


def main():
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        if step == KILLED_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)  # what the scheduler does
        loss = model(torch.randn(512, 1024, device=DEVICE)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
