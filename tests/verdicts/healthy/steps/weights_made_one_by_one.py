# SPDX-License-Identifier: MIT
"""Makes the weights of fifty layers one by one and then answers a few requests."""
import torch

import truth

weights = []
for layer in range(50):
    half = torch.randn(64, 32).cuda()
    weights.append(torch.cat([half, half], 1))
for request in range(6):
    h = torch.randn(4, 64).cuda()
    for w in weights:
        h = torch.relu(h @ w)
    truth.end_of_step()
truth.declare_no_leak()
