# SPDX-License-Identifier: MIT
"""A profiler of modules records name, shape and, by mistake, the tensor itself of every call."""
import functools

import torch
from torch import nn

import truth


class ModuleProfiler:
    def __init__(self):
        self.calls = []

    def attach(self, module, name):
        module.register_forward_pre_hook(functools.partial(self.record, name))

    def record(self, name, module, args):
        self.calls.append({'name': name, 'shape': tuple(args[0].shape), 'args': args})


def main():
    profiler = ModuleProfiler()
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16)).to('cuda').eval()
    profiler.attach(net, 'net')
    with torch.no_grad():
        for _ in range(40):
            x = torch.randn(100, 32, device='cuda')  # leaks
            net(x)
            truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(x)))


main()
