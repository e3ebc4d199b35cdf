# SPDX-License-Identifier: MIT
"""An autograd function stores its last contexts for debugging, and with each the scale that the context refers to."""
import torch
from torch import nn

import truth


class Quantize(torch.autograd.Function):
    contexts = []

    @staticmethod
    def forward(ctx, x):
        ctx.scale = x.abs().amax(0)  # leaks
        Quantize.contexts.append(ctx)
        return torch.round(x / ctx.scale.clamp(min=1e-6)) * ctx.scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class QuantizedLinear(nn.Linear):
    def forward(self, x):
        return super().forward(Quantize.apply(x))


def main():
    model = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), QuantizedLinear(256, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        loss = model(torch.randn(24, 16, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(Quantize.contexts[0].scale)))


main()
