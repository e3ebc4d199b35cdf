# SPDX-License-Identifier: MIT
"""A metric object that accumulates predictions and targets, and is never reset."""
import torch
from torch import nn

import truth


class AveragePrecision:
    def __init__(self):
        self.reset()

    def reset(self):
        self.predictions, self.targets = [], []

    def update(self, predictions, targets):
        self.predictions.append(predictions)
        self.targets.append(targets)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 20), nn.SiLU(), nn.Linear(20, 64))

    def forward(self, x):
        return self.layers(x)


def main():
    model, metric = Classifier().cuda(), AveragePrecision()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(35):
        images = torch.rand(128, 10)
        labels = torch.randint(64, (128,)).cuda()  # leaks targets
        logits = model(images.cuda())
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metric.update(logits.detach().sigmoid(), labels)  # leaks predictions
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks targets', truth.size_of(metric.targets[0])),
                        truth.leak('# leaks predictions', truth.size_of(metric.predictions[0])))


main()
