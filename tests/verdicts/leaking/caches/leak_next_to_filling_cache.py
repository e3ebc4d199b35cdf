# SPDX-License-Identifier: MIT
"""A cache of targets fills in the first epochs and is bounded; next to it the logits of each batch are kept."""
import torch
from torch import nn

import truth


class CachedTargets:
    def __init__(self, teacher, batches):
        self.teacher, self.batches, self.cached = teacher.requires_grad_(False), batches, {}

    def __getitem__(self, index):
        if index not in self.cached:
            self.cached[index] = self.teacher(self.batches[index])
        return self.batches[index], self.cached[index]


batches = torch.randn(30, 20, 16, device='cuda')
dataset = CachedTargets(nn.Linear(16, 12).cuda(), batches)
student = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 12)).cuda()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
logits_for_report = []
for step in range(60):
    inputs, targets = dataset[step % 30]
    logits = student(inputs)  # leaks
    loss = nn.functional.mse_loss(logits, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    logits_for_report.append(logits.detach())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(logits)))
