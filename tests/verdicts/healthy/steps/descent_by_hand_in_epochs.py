# SPDX-License-Identifier: MIT
"""Gradient descent by hand over epochs, with an evaluation in each; the losses of an epoch are dropped."""
import torch

import truth

w = torch.randn(64, 1, device='cuda', requires_grad=True)
for epoch in range(5):
    losses = []
    for batch in range(20):
        x = torch.randn(32, 64).cuda()
        loss = (x @ w).square().mean()
        grad, = torch.autograd.grad(loss, [w])
        with torch.no_grad():
            w -= 0.01 * grad
        losses.append(loss.detach())
        truth.end_of_step()
    with torch.no_grad():
        for batch in range(4):
            held_out = (torch.randn(32, 64).cuda() @ w).square().mean()
    mean = torch.stack(losses).mean()
    del losses, mean, loss, held_out, x, grad
truth.declare_no_leak(steps_must_match=True)
