# SPDX-License-Identifier: MIT
"""Trains a model for each fold, moves it to the CPU for the ensemble and frees its optimizer and gradients."""
import torch
from torch import nn

import truth


def train_fold(batches):
    model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for batch in batches:
        loss = model(batch.to('cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    return model.cpu()


def main():
    data = [[torch.randn(16, 64) for _ in range(6)] for _ in range(8)]
    ensemble = []
    for fold in range(8):
        ensemble.append(train_fold([batch for number in range(8) if number != fold for batch in data[number][:1]]))
    print(len(ensemble), 'models')


main()
truth.declare_no_leak()
