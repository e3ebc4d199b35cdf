# SPDX-License-Identifier: MIT
"""Prints what each module holds, by name: layers of one class from the same lines, shared weights, two models."""

import json
import time

import torch


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(256, 256)
        self.out = torch.nn.Linear(256, 128)

    def forward(self, x):
        return self.query(x) + self.out(x).repeat(1, 2)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4096))
        self.embedding = torch.nn.Embedding(1000, 256)
        self.layers = torch.nn.ModuleList([Attention(), Attention(), Attention()])
        self.norm = torch.nn.BatchNorm1d(256)
        self.head = torch.nn.Linear(256, 1000, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        x = self.embedding(x) * self.scale[:256]
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Judge(torch.nn.Linear):
    pass


def held_by(model, optimizer):
    """Returns bytes by module and category, as PyTorch rounds them. Shared memory belongs to the first module."""
    held, counted = {}, set()

    def add(name, category, tensor):
        if tensor is None or not tensor.is_cuda or tensor.data_ptr() in counted:
            return
        counted.add(tensor.data_ptr())
        path = '.'.join([f'model ({type(model).__name__})', *name.split('.')[:-1]])
        module = held.setdefault(path, {})
        module[category] = module.get(category, 0) + (tensor.untyped_storage().nbytes() + 511) // 512 * 512

    for name, parameter in model.named_parameters():
        add(name, 'parameters', parameter)
        add(name, 'gradients', parameter.grad)
        for state in optimizer.state[parameter].values():
            add(name, 'optimizer state', state)
    for name, buffer in model.named_buffers():
        add(name, 'buffers', buffer)
    return held


model = Model().cuda()
optimizer = torch.optim.Adam(model.parameters())
judge = Judge(1000, 512).cuda()
judges = torch.optim.SGD(judge.parameters(), momentum=0.9)
for step in range(2):
    optimizer.zero_grad()
    judges.zero_grad()
    judge(model(torch.arange(64, device='cuda'))).mean().backward()
    judges.step()
    optimizer.step()
print(json.dumps({'time_ns': time.time_ns(), 'held': {**held_by(model, optimizer), **held_by(judge, judges)}}))
