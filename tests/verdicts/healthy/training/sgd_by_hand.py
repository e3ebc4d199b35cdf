# SPDX-License-Identifier: MIT
"""Updates the weights by hand with velocity buffers that are made at a parameter's first update, without torch.optim."""
import torch

import truth

w1 = torch.randn(32, 100, device='cuda', requires_grad=True)
w2 = torch.randn(100, 10, device='cuda', requires_grad=True)
velocity = {}
for t in range(60):
    x = torch.randn(64, 32, device='cuda')
    y = torch.randn(64, 10, device='cuda')
    prediction = x.mm(w1).clamp(min=0).mm(w2)
    loss = (prediction - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            velocity[w] = 0.9 * velocity.get(w, 0) + w.grad
            w -= 1e-4 * velocity[w]
            w.grad = None
    truth.end_of_step()
truth.declare_no_leak()
