# SPDX-License-Identifier: MIT
"""Registers a hook in the middle of training. The hook keeps the output of a layer."""
import torch
from torch import nn

import truth


class Probe:
    def __init__(self, layer):
        self.outputs = []
        self.handle = layer.register_forward_hook(self.keep)

    def keep(self, layer, inputs, output):
        self.outputs.append(output.detach())


model = nn.Sequential()
model.add_module('conv1', nn.Conv2d(1, 4, 3))
model.add_module('relu1', nn.LeakyReLU())
model.add_module('flat', nn.Flatten())
model.add_module('fc', nn.Linear(4 * 12 * 12, 3))
model.to('cuda')
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
probe = None
for iteration in range(110):
    if iteration == 40:
        probe = Probe(model.conv1)
    images = torch.rand(8, 1, 14, 14, device='cuda')
    logits = model(images)  # leaks
    loss = logits.logsumexp(1).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(probe.outputs[-1]), first_step=40))
