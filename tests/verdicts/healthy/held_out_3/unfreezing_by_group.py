# SPDX-License-Identifier: MIT
"""Fine-tuning that unfreezes one more group of layers each 20 steps, from the head down. Each brings its gradients and the state of Adam, once."""
import torch
from torch import nn

import truth

groups = nn.ModuleList([
    nn.Sequential(nn.Embedding(600, 96)),
    nn.Sequential(nn.Linear(96, 128), nn.Tanh()),
    nn.Sequential(nn.Linear(128, 128), nn.Tanh()),
    nn.Sequential(nn.Linear(128, 128), nn.Tanh()),
    nn.Sequential(nn.Linear(128, 5)),
]).cuda()


def forward(tokens):
    x = groups[0](tokens).mean(1)
    for group in groups[1:]:
        x = group(x)
    return x


def unfreeze(group, optimizer, rate):
    for parameter in group.parameters():
        parameter.requires_grad_(True)
    optimizer.add_param_group({'params': list(group.parameters()), 'lr': rate})


for parameter in groups.parameters():
    parameter.requires_grad_(False)
optimizer = torch.optim.Adam([{'params': [nn.Parameter(torch.zeros(1, device='cuda'))]}], lr=1e-3)

frozen = list(groups)
for step in range(220):
    if step % 20 == 0 and frozen:
        unfreeze(frozen.pop(), optimizer, rate=1e-3 / 2.6 ** (len(groups) - len(frozen)))
        print(step, sum(p.numel() for p in groups.parameters() if p.requires_grad), 'weights train')
    tokens, label = torch.randint(0, 600, (24, 15)).cuda(), torch.randint(0, 5, (24,)).cuda()
    loss = nn.functional.cross_entropy(forward(tokens), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
