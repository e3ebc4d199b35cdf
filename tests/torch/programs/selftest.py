# SPDX-License-Identifier: MIT
"""Runs PyTorch with everything that changes a native stack: selftest.py LIBRARY [ARGUMENT...]

Between the steps of a training it throws exceptions, switches greenlets and calls `selftest` of LIBRARY (tests/shim/stacks/programs/selftest.cc)
with the arguments, which adds signals, routines, jumps, and libraries that replace each other.
"""
import ctypes
import sys
import threading

import torch
from greenlet import greenlet
from torch import nn

STEPS = 12


def step(model, optimizer):
    loss = model(torch.rand(16, 32, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def throw():
    for _ in range(5):
        try:
            torch.ones(6, device="cuda").view(4)
        except RuntimeError:
            torch.ones(7, device="cuda")


class Angry(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        raise ValueError(gradient.clone())


def throw_backwards():
    x = torch.ones(3, device="cuda", requires_grad=True)
    try:
        Angry.apply(x * 2).sum().backward()
    except ValueError:
        torch.ones(9, device="cuda")


def switch():
    def routine(depth):
        if depth:
            return routine(depth - 1)
        for _ in range(5):
            torch.ones(8, device="cuda")
            parent.switch()

    parent = greenlet.getcurrent()
    routines = [greenlet(routine) for _ in range(3)]
    for turn in range(5):
        for depth, each in enumerate(routines):
            each.switch(*([3 * depth] if not turn else []))
            torch.ones(8, device="cuda")


def main(library, *arguments):
    selftest = ctypes.CDLL(library).selftest
    words = [word.encode() for word in ("selftest", *arguments)]
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())

    def work():
        for _ in range(STEPS):
            step(model, optimizer)
            throw()
            switch()
            throw_backwards()

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        work()
        assert selftest(len(words), (ctypes.c_char_p * len(words))(*words)) == 0


main(*sys.argv[1:])
