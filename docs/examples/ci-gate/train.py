# SPDX-License-Identifier: MIT
"""A small training script that a gate watches: docs/ci.md. usage: train.py [STEPS]"""
import sys

import torch
import torch.nn.functional as F


class Classifier(torch.nn.Module):
    def __init__(self, width=512, classes=100):
        super().__init__()
        self.hidden = torch.nn.Linear(width, 4 * width)
        self.head = torch.nn.Linear(4 * width, classes)

    def forward(self, x):
        return self.head(F.relu(self.hidden(x)))


def training_step(model, optimizer, x, labels):
    loss = F.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def main(steps):
    model = Classifier().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(64, 512, device="cuda")
    labels = torch.zeros(64, dtype=torch.long, device="cuda")
    losses = []
    for _ in range(steps):
        losses.append(training_step(model, optimizer, x, labels))
    print(f"{steps} steps, loss {sum(losses) / len(losses):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
