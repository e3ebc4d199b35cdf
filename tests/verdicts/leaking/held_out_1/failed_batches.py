# SPDX-License-Identifier: MIT
"""Collects the errors of augmentation, whose tracebacks keep images and noise."""
import torch
from torch import nn

import truth


def augment(images, strength):
    noise = torch.randn(10, 3, 12, 12, device='cuda')  # noise leaks
    if strength > 0.7:
        raise ValueError(f'too much noise: {strength}')
    return images + strength * noise


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(432, 32), nn.ReLU(), nn.Linear(32, 2)).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    errors = []
    for step in range(100):
        images = torch.rand(20, 3, 12, 12).to('cuda')[:10]  # images leak
        try:
            inputs = augment(images, (step % 4) / 4)
        except ValueError as error:
            errors.append(error)
            inputs = images
        loss = model(inputs).var()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    print(len(errors), 'batches failed')
    truth.declare_leaks(truth.leak('# noise leaks', truth.size_of(torch.empty(10, 3, 12, 12)) / 4, first_step=3),
                        truth.leak('# images leak', truth.size_of(images) / 4, first_step=3))


main()
