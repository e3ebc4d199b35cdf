# SPDX-License-Identifier: MIT
"""Allocates under many shapes of Python stack and tells each: python_stacks.py [REPORT]

Each block has a size of its own, so that a recording can be asked for its stack; what the stack must be
is taken from traceback at the same moment.
"""

import functools
import sys
import threading
import traceback

import torch
from torch.utils.checkpoint import checkpoint

import common

told = []
lock = threading.Lock()


def allocate():
    """A block of a size that nothing else has, and the stack that asked for it, leaf first."""
    with lock:
        size_bytes = (1 << 22) + 512 * (len(told) + 1)
        told.append(None)
        place = len(told) - 1
    # One line allocates and tells: the line number of this frame is the same for both.
    block, stack = torch.empty(size_bytes, dtype=torch.uint8, device='cuda'), traceback.extract_stack()
    told[place] = {
        'size_bytes': size_bytes,
        'thread': threading.current_thread().name,
        'stack': [[frame.name, frame.filename, frame.lineno] for frame in reversed(stack)],
    }
    return block


def recurse(depth):
    return allocate() if depth == 0 else recurse(depth - 1)


def generate():
    for _ in range(3):
        yield allocate()


class Keeper:
    @functools.cached_property
    def block(self):
        return allocate()

    def __getattr__(self, name):
        return allocate()

    @classmethod
    def of_class(cls):
        return (lambda: allocate())()


class Doubled(torch.autograd.Function):
    """Its backward runs in autograd's own thread."""

    @staticmethod
    def forward(ctx, x):
        allocate()
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        allocate()
        return gradient * 2


def checkpointed(x):
    allocate()
    return x * 3


def main():
    recurse(20)
    list(generate())
    keeper = Keeper()
    keeper.block
    keeper.absent
    Keeper.of_class()
    sorted([2, 1], key=lambda value: (allocate(), value)[1])
    [allocate() for _ in range(2)]
    exec(compile('allocate()', '<made up>', 'exec'), {'allocate': allocate})

    x = torch.ones(1000, device='cuda', requires_grad=True)
    y = Doubled.apply(x)
    y.register_hook(lambda gradient: (allocate(), gradient)[1])
    z = checkpoint(checkpointed, y, use_reentrant=False)
    z.sum().backward()

    threads = [threading.Thread(target=recurse, args=(number,), name=f'worker {number}') for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    common.report(common.report_path(), told=told)


if __name__ == '__main__':
    sys.setrecursionlimit(1000)
    main()
