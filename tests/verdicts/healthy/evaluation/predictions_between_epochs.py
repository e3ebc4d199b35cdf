# SPDX-License-Identifier: MIT
"""Trains and validates by turns, and gathers the outputs of a validation only until its score is known."""
import torch
from torch import nn

import truth


def train_epoch(model, optimizer, batches):
    model.train()
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        truth.end_of_step()


@torch.no_grad()
def validate(model, batches):
    model.eval()
    outputs, labels = [], []
    for inputs, target in batches:
        outputs.append(model(inputs.cuda()))
        labels.append(target.cuda())
    outputs, labels = torch.cat(outputs), torch.cat(labels)
    return nn.functional.cross_entropy(outputs, labels).item()


def main():
    model = nn.Sequential(nn.Linear(40, 80), nn.Dropout(0.1), nn.ReLU(), nn.Linear(80, 12)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = [(torch.randn(32, 40), torch.randint(12, (32,))) for _ in range(12)]
    valid = [(torch.randn(64, 40), torch.randint(12, (64,))) for _ in range(20)]
    for epoch in range(5):
        train_epoch(model, optimizer, train)
        print(epoch, validate(model, valid))


main()
truth.declare_no_leak()
