# SPDX-License-Identifier: MIT
"""Stores the output of each layer under its name in a dictionary, where the next step replaces it."""
import torch
from torch import nn

import truth


class ActivationLogger:
    def __init__(self, model):
        self.last = {}
        for name, module in model.named_modules():
            if not list(module.children()):
                module.register_forward_hook(lambda module, inputs, output, name=name: self.last.__setitem__(name, output))


def main():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10)).cuda()
    logger = ActivationLogger(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(36):
        images = torch.rand(16 if step < 35 else 9, 3, 16, 16, device='cuda')
        loss = model(images).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 12 == 0:
            print({name: float(value.norm()) for name, value in logger.last.items()})
        truth.end_of_step()


main()
truth.declare_no_leak()
