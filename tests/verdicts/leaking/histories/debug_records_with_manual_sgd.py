# SPDX-License-Identifier: MIT
"""Trains by hand, without an optimizer, and keeps a record of each step with the gradients' extremes."""
import dataclasses

import torch
from torch import nn

import truth


@dataclasses.dataclass
class StepRecord:
    number: int
    seconds: float
    extremes: torch.Tensor


def train(model, steps, rate):
    records = []
    for number in range(steps):
        loss = model(torch.randn(20, 30, device='cuda')).square().mean()
        model.zero_grad()
        loss.backward()
        gradient = model[0].weight.grad
        records.append(StepRecord(number, 0.0, torch.cat([gradient.amin(0), gradient.amax(0)])))  # leaks
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
        truth.end_of_step()
    return records


records = train(nn.Sequential(nn.Linear(30, 200), nn.ReLU(), nn.Linear(200, 3)).cuda(), 40, 0.05)
truth.declare_leaks(truth.leak('# leaks', truth.size_of(records[0].extremes)))
