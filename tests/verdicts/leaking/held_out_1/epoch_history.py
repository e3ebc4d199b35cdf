# SPDX-License-Identifier: MIT
"""Keeps a copy of all weights after each epoch."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=14)
    parser.add_argument('--batch', type=int, default=16)
    return parser.parse_args()


def main():
    args = parse()
    data = TensorDataset(torch.randn(160, 30), torch.randn(160, 1))
    loader = DataLoader(data, batch_size=args.batch, shuffle=True)
    device = torch.device('cuda')
    model = nn.Sequential(nn.Linear(30, 100), nn.ReLU(), nn.Linear(100, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    history = []
    for epoch in range(args.epochs):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()
        history.append({name: value.clone() for name, value in model.state_dict().items()})  # leaks
    rate = truth.size_of(*history[0].values()) / len(loader)
    truth.declare_leaks(truth.leak('# leaks', rate, first_step=len(loader)))


main()
