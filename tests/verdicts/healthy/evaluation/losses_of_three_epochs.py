# SPDX-License-Identifier: MIT
"""Keeps the detached losses of an epoch and begins a new list in each of three epochs."""
import torch
from torch import nn

import truth


def main():
    net = nn.Sequential(nn.Conv1d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 30, 3)).to('cuda')
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    history = []
    for epoch in range(3):
        losses = []
        for _ in range(20):
            x = torch.randn(16, 4, 32, device='cuda')
            y = torch.randint(3, (16,), device='cuda')
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().clone())
            truth.end_of_step()
        history.append(torch.stack(losses).mean().item())
    print(history)


main()
truth.declare_no_leak()
