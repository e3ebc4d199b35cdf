# SPDX-License-Identifier: MIT
"""Trains a convolutional network with batch normalization and Adam: convnet.py [REPORT]"""

import torch
from torch import nn

import common

STEPS = 30
BATCH = 32


def make_model(classes=10):
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, classes),
    )


def train(device='cuda', steps=STEPS):
    model = make_model().to(device)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        images = torch.randn(BATCH, 3, 64, 64, device=device)
        labels = torch.zeros(BATCH, dtype=torch.long, device=device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


if __name__ == '__main__':
    trained = train()
    common.report(common.report_path())
