# SPDX-License-Identifier: MIT
"""One frozen base and an adapter for each of three tasks, in turns: the adapter in use is on the device, the others on the host."""
import torch
from torch import nn

import truth


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base, self.rank, self.adapter = base, rank, None

    def forward(self, x):
        y = self.base(x)
        return y if self.adapter is None else y + x @ self.adapter['down'] @ self.adapter['up']

    def fresh_adapter(self):
        return nn.ParameterDict({'down': torch.randn(self.base.in_features, self.rank) * 0.01,
                                 'up': torch.zeros(self.rank, self.base.out_features)})


base = nn.Sequential(LoRALinear(nn.Linear(200, 300)), nn.ReLU(), LoRALinear(nn.Linear(300, 200))).cuda()
base.requires_grad_(False)
layers = [module for module in base if isinstance(module, LoRALinear)]
tasks = {name: [layer.fresh_adapter() for layer in layers] for name in ('summaries', 'titles', 'keywords')}


def train_on(name, steps):
    for layer, adapter in zip(layers, tasks[name]):
        layer.adapter = adapter.cuda()
    parameters = [p for layer in layers for p in layer.adapter.values()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    for _ in range(steps):
        x = torch.randn(24, 200, device='cuda')
        loss = (base(x) - x.roll(1, 1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    for layer, adapter in zip(layers, tasks[name]):
        layer.adapter = None
        adapter.cpu().zero_grad()
    return loss.item()


for turn in range(3):
    print(turn, {name: train_on(name, 12) for name in tasks})
truth.declare_no_leak()
