# SPDX-License-Identifier: MIT
"""Returns the mean loss of each of eight epochs from a function whose list of losses ends with the call."""
import torch
from torch import nn

import truth


def epoch(model, optimizer, loader):
    losses = []
    for x, y in loader:
        loss = nn.functional.huber_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        truth.end_of_step()
    return torch.stack(losses).mean()


def main():
    loader = [(torch.randn(40, 33), torch.randn(40, 2)) for _ in range(10)]
    model = nn.Sequential(nn.Linear(33, 44), nn.SELU(), nn.Linear(44, 2)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for number in range(8):
        print(number, float(epoch(model, optimizer, loader)))


main()
truth.declare_no_leak()
