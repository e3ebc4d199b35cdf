# SPDX-License-Identifier: MIT
"""Keeps the losses of an epoch with the rest of their graphs. The mean at the end of the epoch uses them last."""
import torch
from torch import nn

import truth


def run_epoch(model, optimizer, batches):
    losses = []
    for inputs in batches:
        reconstruction = model(inputs.cuda())
        loss = nn.functional.l1_loss(reconstruction, inputs.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
        truth.end_of_step()
    return torch.stack(losses).mean().item()


autoencoder = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64)).cuda()
sgd = torch.optim.SGD(autoencoder.parameters(), lr=0.01, momentum=0.9)
run_epoch(autoencoder, sgd, [torch.randn(24, 64) for _ in range(50)])
truth.declare_no_leak()
