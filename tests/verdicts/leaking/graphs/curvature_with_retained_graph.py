# SPDX-License-Identifier: MIT
"""Takes gradients with retain_graph for several probes of the curvature, and keeps the loss of each batch with its graph."""
import torch
from torch import nn

import truth


def probes(loss, parameters, count):
    found = []
    for _ in range(count):
        gradients = torch.autograd.grad(loss, parameters, retain_graph=True)
        found.append(sum(gradient.abs().sum().item() for gradient in gradients))
    return found


def main():
    dataset = torch.randn(30, 40, 16, device='cuda')
    model = nn.Sequential(nn.Linear(16, 80), nn.Tanh(), nn.Linear(80, 16), nn.Sigmoid()).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    measured = []
    for batch in dataset:
        output = model(batch)  # leaks activations
        loss = output.mean()  # leaks loss
        measured.append((loss, probes(loss, list(model.parameters()), 3)))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        truth.end_of_step()
    loss_bytes = truth.size_of(measured[0][0])
    truth.declare_leaks(truth.leak('# leaks activations', truth.held_growth() - loss_bytes), truth.leak('# leaks loss', loss_bytes))


main()
