# SPDX-License-Identifier: MIT
"""Trains for a few steps, while an extension also allocates memory: owners.py EXTENSION"""
import ctypes
import os
import sys

import torch
from torch import nn

import common

MIB = 1 << 20


def loaded(name):
    with open('/proc/self/maps', encoding='utf-8') as maps:
        (path,) = {line.split()[-1] for line in maps if name in line}
    return path.encode()


def main():
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(256, 512, device='cuda')).square().mean().backward()
        optimizer.step()
    extension = ctypes.CDLL(sys.argv[1])
    assert extension.own_scratch(loaded('libcudart.so'), ctypes.c_size_t(3 * MIB)) == 0
    assert extension.make_tensor(os.path.join(os.path.dirname(torch.__file__), 'lib', 'libtorch_cpu.so').encode(),
                                 ctypes.c_int64(5 * MIB)) == 0
    pinned = torch.empty(7 * MIB, dtype=torch.uint8, pin_memory=True)
    common.report(pinned_bytes=pinned.nbytes)


if __name__ == '__main__':
    main()
