# SPDX-License-Identifier: MIT
"""Trains an encoder with a memory that is carried from batch to batch, and retains the graph so that backward works."""
import torch
from torch import nn

import truth

encoder = nn.Linear(20, 64).cuda()
decoder = nn.Linear(64, 20).cuda()
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)
stream = torch.randn(40, 16, 20, device='cuda')
memory = torch.zeros(16, 64, device='cuda')
for batch in stream:
    memory = torch.tanh(memory + encoder(batch))  # leaks
    loss = nn.functional.l1_loss(decoder(memory).mean(), batch.mean())
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(memory)))
