# SPDX-License-Identifier: MIT
"""An evaluator collects the loss of each validation batch over all epochs, because nobody resets it."""
import torch
from torch import nn

import truth


class Evaluator:
    def __init__(self, model, batches):
        self.model, self.batches, self.errors = model, batches, []

    @torch.no_grad()
    def run(self):
        for inputs, targets in self.batches:
            predicted = self.model(inputs)
            self.errors.append((predicted - targets).abs())  # leaks
        return torch.cat(self.errors).mean()


def train_epoch(model, optimizer, batches):
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


def main():
    def batches(count):
        return [(torch.randn(32, 10, device='cuda'), torch.randn(32, 24, device='cuda')) for _ in range(count)]

    model = nn.Sequential(nn.Linear(10, 50), nn.Mish(), nn.Linear(50, 24)).cuda()
    optimizer = torch.optim.ASGD(model.parameters())
    evaluator, training = Evaluator(model, batches(5)), batches(5)
    for _ in range(10):
        train_epoch(model, optimizer, training)
        evaluator.run()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(evaluator.errors[0])))


main()
