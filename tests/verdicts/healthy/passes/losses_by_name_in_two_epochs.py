# SPDX-License-Identifier: MIT
"""A logger keeps every value that an epoch reports as a tensor, averages them at the end of the epoch, and forgets them."""
from collections import defaultdict

import torch
from torch import nn

import truth


class EpochLogger:
    def __init__(self):
        self.values = defaultdict(list)

    def log(self, **values):
        for name, value in values.items():
            self.values[name].append(value.detach())

    def end_epoch(self):
        result = {name: torch.stack(values).mean().item() for name, values in self.values.items()}
        self.values.clear()
        return result


def train_epoch(model, optimizer, logger, steps):
    for _ in range(steps):
        output = model(torch.randn(32, 24, device='cuda'))
        task, penalty = output.square().mean(), 1e-3 * output.abs().sum()
        optimizer.zero_grad()
        (task + penalty).backward()
        optimizer.step()
        logger.log(task=task, penalty=penalty)
        truth.end_of_step()
    return logger.end_epoch()


net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 2)).cuda()
adam, epoch_logger = torch.optim.Adam(net.parameters()), EpochLogger()
print([train_epoch(net, adam, epoch_logger, 30) for _ in range(2)])
truth.declare_no_leak()
