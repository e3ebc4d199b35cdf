# SPDX-License-Identifier: MIT
"""A monitor whose one line keeps two tensors of different size, through two functions that share a helper."""
import torch
from torch import nn

import truth

history = []


def reduced(tensor, how):
    return how(tensor.detach(), dim=-1)  # leaks


def monitor(logits, hidden):
    history.append((reduced(logits, torch.sum), reduced(hidden, torch.amax)))


embed = nn.Embedding(100, 48).cuda()
mix = nn.Linear(48, 100).cuda()
optimizer = torch.optim.Adam([*embed.parameters(), *mix.parameters()])
for _ in range(36):
    tokens = torch.randint(100, (8, 64), device='cuda')
    hidden = embed(tokens)
    logits = mix(hidden[:, ::4])
    monitor(logits, hidden)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 3::4].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*history[0])))
