# SPDX-License-Identifier: MIT
"""Meta-learning with torch.func and no optimizer: a dictionary holds the fast weights of each task that was ever drawn. Nothing reads them."""
import torch
from torch.func import functional_call, grad

import truth

net = torch.nn.Sequential(torch.nn.Linear(12, 60), torch.nn.Tanh(), torch.nn.Linear(60, 12)).cuda()
slow = {name: value.detach() for name, value in net.named_parameters()}
adapted = {}


def loss_of(weights, x, y):
    return (functional_call(net, weights, (x,)) - y).square().mean()


def adapt(weights, x, y, rate=0.05):
    slopes = grad(loss_of)(weights, x, y)
    return {name: weights[name] - rate * slopes[name] for name in weights}  # leaks


def draw():
    x = torch.randn(30, 12, device='cuda')
    return x, torch.roll(x, 1, dims=1)


for task in range(120):
    x, y = draw()
    fast = adapt(slow, x[:15], y[:15])
    adapted[task] = fast
    slopes = grad(loss_of)(fast, x[15:], y[15:])
    slow = {name: slow[name] - 0.01 * slopes[name] for name in slow}
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*adapted[0].values())))
