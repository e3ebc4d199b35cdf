# SPDX-License-Identifier: MIT
"""Runs PyTorch with everything that changes a Python stack: python_selftest.py ROUNDS

It has generators, coroutines, exceptions, recursion, callbacks from C and threads. It also makes, runs and frees code, so
that new code gets the old address, also with the same names but other lines.
"""
import asyncio
import functools
import gc
import random
import sys
import threading

import torch


def allocate():
    return torch.ones(1 + random.randrange(50), device="cuda")


def generate(depth):
    if depth:
        yield from generate(depth - 1)
    for _ in range(2):
        yield allocate()


def generators():
    several = [generate(random.randrange(5)) for _ in range(3)]
    for _ in range(3):
        for each in several:
            next(each, None)
    list(allocate() for _ in range(2))


async def wait(depth):
    allocate()
    await asyncio.sleep(0)
    if depth:
        await wait(depth - 1)
    allocate()


async def wait_for_many():
    await asyncio.gather(*(wait(random.randrange(4)) for _ in range(4)))


def coroutines():
    asyncio.run(wait_for_many())


class Manager:
    def __enter__(self):
        return allocate()

    def __exit__(self, *_):
        allocate()
        return True


def throw(depth):
    try:
        if depth:
            throw(depth - 1)
        raise ValueError(allocate())
    finally:
        allocate()


def exceptions():
    with Manager():
        throw(random.randrange(6))
    try:
        torch.ones(6, device="cuda").view(4)
    except RuntimeError:
        allocate()


def recurse(depth):
    if depth:
        recurse(depth - 1)
    return allocate()


def recursion():
    recurse(random.choice([3, 30, 300]))


def callbacks():
    sorted(range(4), key=lambda _: allocate().numel())
    functools.reduce(lambda a, _: allocate(), range(3))
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: allocate().sum() * 0 + gradient)
    (x * 2).sum().backward()


def made_code():
    """Makes code repeatedly at the same addresses, with the same name but other lines."""
    for _ in range(10):
        space = {"allocate": allocate}
        name = random.choice(["made", "other"])
        head, body = "\n" * random.randrange(400) + f"def {name}():\n", "    0\n" * random.randrange(3)
        exec(compile(head + body + "    return allocate()\n", random.choice(["<one>", "<two>"]), "exec"), space)
        space[name]()
        eval("allocate()")
        del space
    gc.collect()


ALL = [generators, coroutines, exceptions, recursion, callbacks, made_code]


def work(rounds):
    for _ in range(rounds):
        random.choice(ALL)()


def main(rounds):
    random.seed(1)
    for each in ALL:
        each()
    threads = [threading.Thread(target=work, args=(rounds,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    work(rounds)
    for thread in threads:
        thread.join()


main(int(sys.argv[1]))
