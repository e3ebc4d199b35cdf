# SPDX-License-Identifier: MIT
"""Cells of a notebook that add each experiment's weights to a global list of results."""
import torch

import truth

results = []


def cell_1():
    global features, labels
    features = torch.randn(128, 30, device='cuda')
    labels = torch.randint(2, (128,), device='cuda').float()


def cell_2(rate):
    global weights
    weights = torch.zeros(30, 40, device='cuda', requires_grad=True)  # leaks
    optimizer = torch.optim.SGD([weights], lr=rate)
    loss = torch.nn.functional.mse_loss((features @ weights).mean(1), labels)
    loss.backward()
    optimizer.step()
    weights.grad = None


def cell_3(rate):
    results.append({'rate': rate, 'weights': weights})


cell_1()
for number in range(40):
    cell_2(0.01 * number)
    cell_3(0.01 * number)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(weights)))
