# SPDX-License-Identifier: MIT
"""Gradual unfreezing: every 30 steps one more layer is trained, which adds gradients and Adam's moments, and then it stays."""
import torch
from torch import nn
import truth


def make_body():
    sizes = [48, 96, 96, 96]
    return nn.ModuleList(nn.Sequential(nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU()) for a, b in zip(sizes, sizes[1:]))


class Learner:
    def __init__(self):
        self.body, self.head = make_body().cuda(), nn.Linear(96, 10).cuda()
        for p in self.body.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(self.head.parameters(), lr=1e-3)

    def unfreeze(self, layer, lr):
        for p in self.body[layer].parameters():
            p.requires_grad_(True)
        self.opt.add_param_group({'params': list(self.body[layer].parameters()), 'lr': lr})

    def fit(self, steps):
        for _ in range(steps):
            h = torch.randn(64, 48, device='cuda')
            for layer in self.body:
                h = layer(h)
            loss = nn.functional.cross_entropy(self.head(h), torch.randint(10, (64,), device='cuda'))
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
            truth.end_of_step()
        return loss.item()


learn = Learner()
print('head', learn.fit(30))
for layer, lr in [(2, 5e-4), (1, 2e-4), (0, 1e-4)]:
    learn.unfreeze(layer, lr)
    print('layer', layer, learn.fit(30))
print('all', learn.fit(40))
truth.declare_no_leak()
