# SPDX-License-Identifier: MIT
"""Contrastive training with diagnostics: one line makes the normalized embedding, kept each step, and a table, kept each fifth step."""
import torch
import torch.nn as nn
import torch.nn.functional as F

import truth


class Diagnostics:
    def __init__(self):
        self.embeddings = []
        self.tables = []

    @torch.no_grad()
    def update(self, step, z):
        unit, table = F.normalize(z, dim=1), torch.cdist(z, z)  # leaks
        self.embeddings.append(unit)
        if step % 5 == 0:
            self.tables.append(table)
        return {'spread': float(unit.std(0).mean()), 'nearest': float(table.topk(2, largest=False).values.mean())}


def info_nce(a, b, temperature=0.1):
    logits = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T / temperature
    return F.cross_entropy(logits, torch.arange(len(a), device=a.device))


def augment(x):
    return x * (1 + 0.1 * torch.randn_like(x)) + 0.05 * torch.randn_like(x)


def main(diagnostics, steps=160, batch=64):
    net = nn.Sequential(nn.Linear(100, 200), nn.BatchNorm1d(200), nn.ReLU(), nn.Linear(200, 48)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for step in range(steps):
        x = torch.randn(batch, 100).pin_memory().cuda(non_blocking=True)
        a, b = net(augment(x)), net(augment(x))
        loss = info_nce(a, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logged = diagnostics.update(step, a.detach())
        if step % 40 == 0:
            print(step, logged)
        truth.end_of_step()


diagnostics = Diagnostics()
main(diagnostics)
truth.declare_leaks(truth.leak('# leaks', truth.size_of(diagnostics.embeddings[0]) + truth.size_of(diagnostics.tables[0]) / 5))
