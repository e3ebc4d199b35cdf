# SPDX-License-Identifier: MIT
"""Trains a functional network by hand with momentum, and keeps a copy of the weights of each epoch."""
import torch

import truth

weights = [torch.randn(64, 64, device='cuda', requires_grad=True) for _ in range(3)]
momentum = [torch.zeros_like(w) for w in weights]
history = []
for epoch in range(12):
    for batch in range(6):
        x = torch.randn(32, 64).cuda()
        h = x
        for w in weights:
            h = torch.tanh(h @ w)
        loss = h.square().mean()
        grads = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, m, g in zip(weights, momentum, grads):
                m.mul_(0.9).add_(g)
                w.sub_(0.01 * m)
        truth.end_of_step()
    history.append([w.detach().clone() for w in weights])  # leaks
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*history[0]) / 6), steps_must_match=True)
