# SPDX-License-Identifier: MIT
"""Passes a closure to an optimizer: optimizer_closures.py lbfgs|adam|lambda|own_optimizer|lookahead|healthy"""

import sys

import torch
from torch import nn

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]


class Own(torch.optim.Optimizer):
    """An optimizer that keeps a buffer for each parameter, which its own function allocates."""

    def __init__(self, parameters):
        super().__init__(parameters, {'lr': 1e-3})

    @staticmethod
    def _buffer_of(state, parameter):
        if 'buffer' not in state:
            state['buffer'] = torch.zeros_like(parameter)
        return state['buffer']

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for parameter in self.param_groups[0]['params']:
                buffer = self._buffer_of(self.state[parameter], parameter)
                buffer.mul_(0.9).add_(parameter.grad)
                parameter.sub_(buffer * 1e-3)
        return loss


def main():
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
    make = {'lbfgs': torch.optim.LBFGS, 'own_optimizer': Own}.get(KIND, torch.optim.Adam)
    optimizer = make(model.parameters())
    kept = []

    def compute():
        noise = torch.ones(1 << 16, device='cuda')
        doubled = noise * 2
        if KIND != 'healthy':
            kept.append(noise)
            kept.append(doubled)
        loss = (model(torch.randn(64, 256, device='cuda')) + doubled[:1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        return loss

    def closure():
        return compute()

    for _ in range(16):
        optimizer.step((lambda: compute()) if KIND == 'lambda' else closure)


main()
