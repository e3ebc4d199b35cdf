# SPDX-License-Identifier: MIT
"""Caches rotary tables by sequence length; there are eight lengths, and all have been seen before a third of the run."""
import torch
from torch import nn
import truth

LENGTHS = [64, 96, 128, 160, 192, 224, 256, 320]


class Rotary(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.freqs = nn.Buffer(10000.0 ** (-torch.arange(0, d, 2) / d), persistent=False)
        self.tables = {}

    def forward(self, x):
        n = x.shape[1]
        if n not in self.tables:
            angle = torch.outer(torch.arange(n, device=x.device), self.freqs)
            self.tables[n] = angle.cos(), angle.sin()
        cos, sin = self.tables[n]
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class Tagger(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb, self.rope = nn.Embedding(400, d), Rotary(d)
        self.q, self.k, self.out = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 17)

    def forward(self, ids):
        x = self.emb(ids)
        w = (self.rope(self.q(x)) @ self.rope(self.k(x)).mT).mul(0.125).softmax(-1)
        return self.out(w @ x)


tagger = Tagger().cuda()
optimizer = torch.optim.NAdam(tagger.parameters(), lr=1e-3)
order = torch.Generator().manual_seed(5)
for step in range(120):
    # buckets are served in turn first, then as they come
    n = LENGTHS[step // 4] if step < 32 else LENGTHS[torch.randint(len(LENGTHS), (), generator=order)]
    ids = torch.randint(0, 400, (4, n)).cuda()
    loss = nn.functional.cross_entropy(tagger(ids).flatten(0, 1), torch.randint(17, (4 * n,), device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
