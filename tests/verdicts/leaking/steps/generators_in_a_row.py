# SPDX-License-Identifier: MIT
"""A pipeline of generators; the second one remembers each batch that it has passed on."""
import torch

import truth

seen = []


def batches():
    for number in range(50):
        yield torch.full((4, 128), float(number)).cuda()


def normalized(source):
    for batch in source:
        batch = batch - batch.mean(-1, keepdim=True)  # leaks
        seen.append(batch)
        yield batch


for batch in normalized(batches()):
    score = (batch * 2).sum().item()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(seen[0])), steps_must_match=True)
