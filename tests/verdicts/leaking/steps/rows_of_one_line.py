# SPDX-License-Identifier: MIT
"""A loop of a single line, which keeps a scaled row of each number and frees the row that it was scaled from."""
import torch

import truth

rows = []
for number in range(200):
    rows.append(torch.full((1000,), float(number), device='cuda') * 2)  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(rows[0])), steps_must_match=True)
