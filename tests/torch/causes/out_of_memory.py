# SPDX-License-Identifier: MIT
"""Runs out of memory, on a device of 1000 MiB: out_of_memory.py pool|partly_pool|cached|leak|constant|one_line|outside_pytorch"""

import ctypes
import sys

import torch
from torch import nn

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]
MIB = 1 << 20


def make(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device='cuda')


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(8, 64, device='cuda')).sum().backward()
    optimizer.step()


def capture(keeps):
    """Leaves 400 MiB of free memory in the private pool of a graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        blocks = [make(100) for _ in range(4)]
        kept = make(1) if keeps else None
        del blocks
    return graph, kept


def runtime():
    with open('/proc/self/maps', encoding='utf-8') as maps:
        (path,) = {line.split()[-1] for line in maps if 'libcudart.so' in line}
    return ctypes.CDLL(path)


def main():
    model = nn.Linear(64, 64).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    kept = []
    if KIND in ('pool', 'partly_pool'):
        kept.append(capture(KIND == 'partly_pool'))
        kept.append(make(800))
    elif KIND == 'cached':
        # Freeing every second block leaves 400 MiB free, in pieces of 10 MiB, in segments that are still in use.
        blocks = [[make(10), make(10)] for _ in range(45)]
        kept.append([block[0] for block in blocks])
        del blocks
        kept.append(make(400))
    elif KIND == 'outside_pytorch':
        spare = make(400)
        del spare
        pointer = ctypes.c_void_p()
        print(runtime().cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(700 * MIB)))
    else:
        kept.append(make(500))
        for number in range(1000):
            step(model, optimizer)
            if KIND == 'leak':
                kept.append(make(20))
            elif KIND == 'one_line':
                kept.append(
                    torch.empty(20 * MIB, dtype=torch.uint8, device='cuda')
                    if number
                    else [torch.empty(mib * MIB, dtype=torch.uint8, device='cuda') for mib in (200, 100)]
                )
            elif number == 9:
                kept.append(make(600))


main()
