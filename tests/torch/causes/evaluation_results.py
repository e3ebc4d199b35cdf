# SPDX-License-Identifier: MIT
"""Keeps the results of evaluation: evaluation_results.py graph|no_grad|decorated|inference|detached|hooks|inputs|own_forward|tuples"""

import sys

import torch
from torch import nn

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 512)
        self.second = nn.Linear(512, 64)

    def forward(self, batch):
        hidden = self.first(batch)
        hidden = torch.relu(hidden)
        if KIND == 'tuples':
            return self.second(hidden), hidden
        return self.second(hidden)


def sequential():
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 64))


def main():
    model = (Net() if KIND in ('own_forward', 'tuples') else sequential()).cuda().eval()
    kept = []
    if KIND == 'hooks':
        for layer in model:
            layer.register_forward_hook(lambda _layer, _inputs, output: kept.append(output.detach()))
    for _ in range(24):
        batch = torch.randn(64, 256, device='cuda')
        if KIND == 'decorated':
            kept.append(torch.no_grad()(model)(batch))
        elif KIND == 'inference':
            with torch.inference_mode():
                kept.append(model(batch))
        elif KIND in ('no_grad', 'tuples'):
            with torch.no_grad():
                kept.append(model(batch))
        elif KIND == 'inputs':
            model(batch)
            kept.append(batch)
        elif KIND == 'detached':
            kept.append(model(batch).detach())
        elif KIND == 'hooks':
            model(batch)
        else:
            kept.append(model(batch))


main()
