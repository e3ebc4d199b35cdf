# SPDX-License-Identifier: MIT
"""Trains, while an extension and CuPy also allocate memory: train_with_other_allocators.py EXTENSION CUPY

Both are libraries whose function get_memory(path of the CUDA runtime, bytes) calls cudaMalloc.
"""
import ctypes
import sys

import torch
from torch import nn

MIB = 1 << 20


def runtime():
    """Returns the file of the CUDA runtime that PyTorch has loaded."""
    with open('/proc/self/maps', encoding='utf-8') as maps:
        return next(line.split()[-1] for line in maps if 'libcudart.so' in line).encode()


def make_workspace(extension):
    assert extension.get_memory(runtime(), ctypes.c_size_t(192 * MIB)) == 0


def fill_pool(cupy):
    assert cupy.get_memory(runtime(), ctypes.c_size_t(512 * MIB)) == 0


def train(steps=4):
    model = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 4096)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        loss = model(torch.randn(2048, 4096, device='cuda')).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == '__main__':
    make_workspace(ctypes.CDLL(sys.argv[1]))
    fill_pool(ctypes.CDLL(sys.argv[2]))
    train()
