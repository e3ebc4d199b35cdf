# SPDX-License-Identifier: MIT
"""Adds a parameter group with a lower learning rate for each block that is unfrozen, until all of the backbone is trained."""
import torch
from torch import nn

import truth


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU()) for _ in range(4)))
        self.stem, self.head = nn.Conv2d(3, 12, 3), nn.Linear(12, 10)

    def forward(self, images):
        return self.head(self.blocks(self.stem(images)).mean((2, 3)))


def main():
    model = Network().cuda()
    for parameter in model.parameters():
        parameter.requires_grad = False
    for parameter in model.head.parameters():
        parameter.requires_grad = True
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-3)
    frozen = [*model.blocks]
    for step in range(60):
        if step and step % 12 == 0:
            block = frozen.pop()
            block.requires_grad_(True)
            optimizer.add_param_group({'params': block.parameters(), 'lr': 1e-4})
        loss = model(torch.rand(8, 3, 18, 18, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
