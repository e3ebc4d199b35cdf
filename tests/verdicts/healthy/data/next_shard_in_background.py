# SPDX-License-Identifier: MIT
"""Loads the next shard in a thread while the current one is trained on, so that two shards are on the device."""
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import truth


def load(number):
    return torch.full((300, 64), float(number)).pin_memory().cuda(non_blocking=True)


def main():
    model = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    with ThreadPoolExecutor(1) as background:
        following = background.submit(load, 0)
        for number in range(1, 8):
            shard = following.result()
            following = background.submit(load, number)
            for batch in shard.split(50):
                loss = nn.functional.mse_loss(model(batch), batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                truth.end_of_step()


main()
truth.declare_no_leak()
