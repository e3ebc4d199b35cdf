# SPDX-License-Identifier: MIT
"""Allocates under many shapes of Python stack and prints each stack: python_stacks.py [REPORT]

Each block has a unique size, by which a test finds its stack in the recording. The expected stack comes
from traceback at the same moment.
"""

import functools
import sys
import threading
import traceback

import torch
from torch.utils.checkpoint import checkpoint

import common

printed = []
lock = threading.Lock()


def allocate():
    """Allocates a block of a unique size, and stores the stack that requested it, leaf first."""
    with lock:
        size_bytes = (1 << 22) + 512 * (len(printed) + 1)
        printed.append(None)
        place = len(printed) - 1
    # One line allocates and stores the stack, so that both have the same line number in this frame.
    block, stack = torch.empty(size_bytes, dtype=torch.uint8, device='cuda'), traceback.extract_stack()
    printed[place] = {
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
    """The backward pass of this function runs in autograd's own thread."""

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
    keeper.block  # noqa: B018
    keeper.absent  # noqa: B018
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

    common.report(common.report_path(), printed=printed)


if __name__ == '__main__':
    sys.setrecursionlimit(1000)
    main()
