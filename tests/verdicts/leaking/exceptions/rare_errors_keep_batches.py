# SPDX-License-Identifier: MIT
"""Every seventh batch has a broken label, and the list of errors keeps the batch through the traceback."""
import torch
from torch import nn

import truth

errors = []


def load(step):
    images = torch.rand(32, 48).to('cuda')  # leaks
    labels = torch.zeros(32, dtype=torch.long)
    if step % 7 == 0:
        labels[3] = -1
    check(labels)
    return images, labels.cuda()


def check(labels):
    if labels.min() < 0:
        raise ValueError('a label is missing')


def main():
    model = nn.Linear(48, 6).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = 0
    while step < 140:
        try:
            images, labels = load(step)
        except ValueError as error:
            errors.append(error)
            images, labels = load(step + 1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        truth.end_of_step()
        step += 1
    truth.declare_leaks(truth.leak('# leaks', len(errors) * 32 * 48 * 4 / 140))


main()
