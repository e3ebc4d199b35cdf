# SPDX-License-Identifier: MIT
"""Joins the predictions of a whole evaluation, for one number at the end of each epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth

device = 'cuda'
train_set = TensorDataset(torch.randn(120, 16), torch.randn(120, 2))
test_set = TensorDataset(torch.randn(300, 16), torch.randn(300, 2))


def evaluate(model):
    model.eval()
    outputs, targets = [], []
    with torch.no_grad():
        for x, y in DataLoader(test_set, batch_size=20):
            outputs.append(model(x.to(device)))
            targets.append(y.to(device))
    outputs, targets = torch.cat(outputs), torch.cat(targets)
    return 1 - ((outputs - targets).square().sum() / targets.var()).item()


model = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 2)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    model.train()
    epoch_losses = []
    for x, y in DataLoader(train_set, batch_size=12, shuffle=True):
        loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_losses.append(loss.detach())
        truth.end_of_step()
    mean = torch.stack(epoch_losses).mean().item()
    r2 = evaluate(model)
truth.declare_no_leak()
