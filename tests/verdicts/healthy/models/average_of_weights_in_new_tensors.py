# SPDX-License-Identifier: MIT
"""Replaces each averaged weight by a new tensor in each step, so that the average is always young and never larger."""
import torch
from torch import nn

import truth


def main():
    model = nn.Sequential(nn.Linear(50, 90), nn.ReLU(), nn.Linear(90, 9)).cuda()
    shadow = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(50):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(40, 50).cuda()), torch.randint(9, (40,)).cuda()).backward()
        optimizer.step()
        shadow = {name: 0.98 * shadow[name] + 0.02 * value.detach() for name, value in model.named_parameters()}
        truth.end_of_step()
    model.load_state_dict(shadow)


main()
truth.declare_no_leak()
