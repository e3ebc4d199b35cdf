# SPDX-License-Identifier: MIT
"""An optimizer of the user's own that keeps the update of each step in addition to its momentum."""
import torch
from torch import nn

import truth


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99)):
        super().__init__(params, {'lr': lr, 'betas': betas})
        self.updates = []

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            first, second = group['betas']
            for p in group['params']:
                state = self.state[p]
                if not state:
                    state['momentum'] = torch.zeros_like(p)
                update = state['momentum'].lerp(p.grad, 1 - first).sign_()  # leaks
                p.add_(update, alpha=-group['lr'])
                state['momentum'].lerp_(p.grad, 1 - second)
                self.updates.append(update)


def main():
    model = nn.Sequential(nn.Linear(18, 72), nn.GELU(), nn.Linear(72, 18)).cuda()
    optimizer = Lion(model.parameters())
    for _ in range(32):
        x = torch.randn(24, 18, device='cuda')
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*model.parameters())))


main()
