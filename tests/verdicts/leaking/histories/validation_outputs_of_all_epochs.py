# SPDX-License-Identifier: MIT
"""Keeps the outputs of the validation pass of every epoch, to compare epochs at the end."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
optimizer = torch.optim.Adam(model.parameters())
training = [torch.randn(32, 16) for _ in range(8)]
validation = [torch.randn(64, 16) for _ in range(8)]
outputs_of_epochs = []
for epoch in range(6):
    model.train()
    for batch in training:
        optimizer.zero_grad()
        loss = model(batch.cuda()).square().mean()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    model.eval()
    with torch.no_grad():
        outputs_of_epochs.append([model(batch.cuda()) for batch in validation])  # leaks
# Validation and training have equally many batches, so a step of either kind leaves one output.
truth.declare_leaks(truth.leak('# leaks', truth.size_of(outputs_of_epochs[0][0])))
