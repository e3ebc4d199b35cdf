# SPDX-License-Identifier: MIT
"""Segments point clouds; every 20 steps a validation gathers all predictions on the device, computes IoU, and returns floats."""
import torch
from torch import nn
import truth

CLASSES = 6


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 64))
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, points):
        f = self.local(points)
        g = f.amax(1, keepdim=True).expand_as(f)
        return self.head(torch.cat([f, g], -1))


def clouds(n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        yield torch.rand(4, 200, 3, generator=g), torch.randint(CLASSES, (4, 200), generator=g)


def evaluate(net, seed):
    net.eval()
    outputs, targets = [], []
    with torch.no_grad():
        for points, labels in clouds(15, seed):
            outputs.append(net(points.cuda()))
            targets.append(labels.cuda())
    guess, wanted = torch.cat(outputs).argmax(-1), torch.cat(targets)
    ious = []
    for c in range(CLASSES):
        both, either = ((guess == c) & (wanted == c)).sum(), ((guess == c) | (wanted == c)).sum()
        ious.append((both / either.clamp(min=1)).item())
    net.train()
    return sum(ious) / CLASSES


net = PointNet().cuda()
opt = torch.optim.Adam(net.parameters())
scores = []
for step, (points, labels) in enumerate(clouds(120, seed=0), start=1):
    loss = nn.functional.cross_entropy(net(points.cuda()).flatten(0, 1), labels.cuda().flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    truth.end_of_step()
    if step % 20 == 0:
        scores.append(evaluate(net, seed=step))
print(scores)
truth.declare_no_leak()
