# SPDX-License-Identifier: MIT
"""A metric keeps scores and labels as lists of tensors, computes its value at the end of each epoch, and is reset."""
import torch
from torch import nn

import truth


class AreaUnderCurve:
    def __init__(self):
        self.reset()

    def reset(self):
        self.scores, self.labels = [], []

    def update(self, scores, labels):
        self.scores.append(scores.detach())
        self.labels.append(labels)

    def compute(self):
        scores, labels = torch.cat(self.scores), torch.cat(self.labels)
        ranks = scores.argsort().argsort().float()
        return ((ranks * labels).sum() / (labels.sum() + 1)).item()


metric = AreaUnderCurve()
model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1)).cuda()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
for epoch in range(4):
    for _ in range(18):
        x, y = torch.randn(256, 20, device='cuda'), torch.rand(256, device='cuda').round()
        scores = model(x).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metric.update(scores, y)
        truth.end_of_step()
    print(metric.compute())
    metric.reset()
truth.declare_no_leak()
