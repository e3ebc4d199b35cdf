# SPDX-License-Identifier: MIT
"""Fills a window of recent embeddings and a list of all of them by one line."""
from collections import deque

import torch
from torch import nn

import truth

encoder = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64)).to('cuda')
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
recent = deque(maxlen=8)
everything = []

for step in range(60):
    batch = torch.randn(64, 32, device='cuda')
    loss = (encoder(batch) - encoder(batch.roll(1, 0))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for store in (recent, everything):
            store.append(encoder(batch))  # leaks
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', truth.size_of(*everything) / len(everything)))
