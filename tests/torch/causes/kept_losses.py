# SPDX-License-Identifier: MIT
"""Trains, and keeps losses: kept_losses.py after_backward|with_graph|detached|vectors|evaluated"""

import sys

import torch
from torch import nn

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]


def main():
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1000)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    for _ in range(24):
        batch, labels = torch.randn(64, 256, device='cuda'), torch.randint(1000, (64,), device='cuda')
        output = model(batch)
        loss = nn.functional.cross_entropy(output, labels)
        if KIND == 'with_graph':
            kept.append(nn.functional.cross_entropy(output * 2, labels))
        if KIND == 'vectors':
            kept.append(nn.functional.cross_entropy(output, labels.repeat(1), reduction='none').detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if KIND == 'after_backward':
            kept.append(loss)
        if KIND == 'detached':
            kept.append(loss.detach())
        if KIND == 'evaluated':
            with torch.no_grad():
                kept.append(nn.functional.cross_entropy(model(batch), labels))


main()
