# SPDX-License-Identifier: MIT
"""Turns on recording of gradients after 150 of 200 steps, when the loss plateaus."""
import torch
from torch import nn

import truth


class PlateauRecorder:
    def __init__(self, model, patience):
        self.model, self.patience, self.recorded = model, patience, []
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls > self.patience:
            self.recorded.append(self.model[0].weight.grad.clone())  # leaks


def main():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).cuda()
    optimizer = torch.optim.Adagrad(model.parameters())
    recorder = PlateauRecorder(model, patience=151)
    for _ in range(200):
        optimizer.zero_grad()
        model(torch.randn(8, 16, device='cuda')).mean().backward()
        recorder()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*recorder.recorded) / len(recorder.recorded), first_step=151))


main()
