# SPDX-License-Identifier: MIT
"""Generates sixteen tokens for each request with a cache of keys that grows; a log keeps the last state of each."""
import torch
from torch import nn

import truth


class Decoder(nn.Module):
    def __init__(self, layers=4, width=64):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x, caches):
        for layer, cache in zip(self.layers, caches):
            x = layer(x)
            cache.append(x)
            x = x + torch.cat(cache).mean(0, keepdim=True)
        return x


def generate(model, prompt, count):
    caches = [[] for _ in model.layers]
    h = prompt.cuda()
    for _ in range(count):
        h = model(h, caches)
    return h


model = Decoder().cuda().eval()
log = []
with torch.no_grad():
    for request in range(25):
        answer = generate(model, torch.randn(1, 64), 16)
        log.append(answer.clone())  # leaks
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(log[0])), steps_must_match=True)
