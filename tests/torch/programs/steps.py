# SPDX-License-Identifier: MIT
"""Trains in one of several ways and counts its optimizers' steps: steps.py WAY

The last line of output is {"steps": [[address, class, count], ...], ...}: one row for each optimizer.
"""

import atexit
import concurrent.futures
import contextlib
import copy
import gc
import io
import multiprocessing
import os
import pickle
import sys
import threading

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

import common
import tasks  # found by common

WIDTH = 16
printed = {}
steps = {}
kept = []  # keeps optimizers alive, so that an address identifies one optimizer


def count(optimizer):
    kept.append(optimizer)
    row = steps.setdefault(id(optimizer), [id(optimizer), type(optimizer).__name__, 0])
    row[2] += 1


def make_model(device='cuda'):
    return nn.Linear(WIDTH, WIDTH).to(device)


def backward(model, device='cuda'):
    model(torch.ones(4, WIDTH, device=device)).sum().backward()


def train(times=3, kind=torch.optim.SGD, **options):
    model = make_model()
    optimizer = kind(model.parameters(), **{'lr': 0.1, **options})
    for _ in range(times):
        optimizer.zero_grad()
        backward(model)
        optimizer.step()
        count(optimizer)
    return optimizer


def main_thread():
    train()


def worker():
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()


def daemon():
    done = threading.Event()
    threading.Thread(target=lambda: (train(), done.set()), daemon=True).start()
    done.wait()


def executor():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(train, 5) for _ in range(4)]:
            future.result()


def two_optimizers():
    one, other = make_model(), make_model()
    first = torch.optim.Adam(one.parameters())
    second = torch.optim.RMSprop(other.parameters())
    for turn in range(6):
        for model, optimizer in [(one, first)] + [(other, second)] * (turn % 2):
            backward(model)
            optimizer.step()
            count(optimizer)


def late():
    """Trains on the CPU first, before PyTorch's CUDA allocator has allocated anything."""
    model = make_model('cpu')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        backward(model, 'cpu')
        optimizer.step()
    train()


def raising():
    class Refusing(torch.optim.SGD):
        def step(self, closure=None):
            raise ValueError('no')

    model = make_model()
    good = torch.optim.SGD(model.parameters(), lr=0.1)
    bad = Refusing(model.parameters(), lr=0.1)
    for _ in range(4):
        backward(model)
        with contextlib.suppress(ValueError):
            bad.step()
        good.step()
        count(good)
        try:
            raise KeyError('on its way')
        except KeyError:
            good.step()
            count(good)
            assert isinstance(sys.exc_info()[1], KeyError)


def subclass():
    """Runs steps within steps. PyTorch wraps the step of both classes."""

    class Own(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            return super().step(closure)

    class Both(Own):
        """An optimizer whose step calls the step of another optimizer. Both count separately."""
        def step(self, closure=None):
            self.inner.step()
            count(self.inner)
            return super().step(closure)

    train()
    train(4, Own)
    model = make_model()
    both = Both(model.parameters(), lr=0.1)
    both.inner = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        backward(model)
        both.step()
        count(both)


def kinds():
    for options in {}, {'foreach': True}, {'foreach': False}, {'capturable': True}, {'fused': True}:
        for kind in torch.optim.Adam, torch.optim.AdamW:
            train(kind=kind, **options)
    model = make_model()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(4, WIDTH, device='cuda')).square().sum()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
        count(optimizer)


def scaler():
    """Trains with a scaler. A hook of PyTorch counts the steps that the scaler does not skip."""
    scale = torch.amp.GradScaler('cuda')
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(lambda own, *_: count(own))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(4):
        scale.scale(model(torch.ones(4, WIDTH, device='cuda')).sum()).backward()
        scale.step(optimizer)
        scale.update()
        schedule.step()


def copies():
    """Uses copies and hooks of optimizers, which must behave the same as without a profiler."""
    calls = []
    optimizer = train(2, torch.optim.Adam)
    optimizer.register_step_post_hook(lambda *_: calls.append('own'))
    copied = copy.deepcopy(train(2, torch.optim.Adam))
    loaded = pickle.loads(pickle.dumps(train(2, torch.optim.AdamW)))
    stored = io.BytesIO()
    torch.save(optimizer.state_dict(), stored)
    handle = register_optimizer_step_post_hook(lambda *_: calls.append('global'))
    for each in copied, loaded, optimizer:
        each.step()
        count(each)
    handle.remove()
    optimizer.step()
    count(optimizer)
    printed['calls'] = calls


def loader():
    data = torch.utils.data.TensorDataset(torch.arange(64, dtype=torch.float32).reshape(16, 4))
    model = nn.Linear(4, 1).to('cuda')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for (batch,) in torch.utils.data.DataLoader(data, 4, num_workers=2, multiprocessing_context='fork'):
            optimizer.zero_grad()
            model(batch.to('cuda')).sum().backward()
            optimizer.step()
            count(optimizer)


def child_of(method, target=train):
    child = multiprocessing.get_context(method).Process(target=target)
    child.start()
    child.join()
    if child.exitcode < 0:
        os.kill(os.getpid(), -child.exitcode)  # ends like the child, because the test checks how
    assert child.exitcode == 0, child.exitcode


def spawned():
    train(2)
    child_of('spawn')


def forked():
    """Forks before it initializes CUDA. PyTorch does not allow a later fork."""
    child_of('fork')
    train(2)


def cpu_steps():
    model = make_model('cpu')
    model.weight.grad = torch.ones_like(model.weight)  # autograd does not work in a forked child
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def forked_later():
    """Forks a child that does not use CUDA. It inherits the hook, but no recording."""
    train(2)
    child_of('fork', cpu_steps)


def unseen():
    """Prints threads, frames and tasks. They must not show any trace of a profiler."""
    train()
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    printed.update(
        threads=[thread.name for thread in threading.enumerate()],
        frames=len(sys._current_frames()),
        collecting=gc.isenabled(),
        tasks=tasks.thread_names())


def unseen_in_worker():
    thread = threading.Thread(target=unseen)
    thread.start()
    thread.join()
    printed['threads'] = [thread.name for thread in threading.enumerate()]


def compiled():
    """Trains with a compiled step, which must work as usual and count as a step."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend='eager')
    for _ in range(3):
        backward(model)
        step()
        count(optimizer)
    printed['graphs'] = torch._dynamo.utils.counters['stats'].get('unique_graphs')


def held():
    """Holds a block until Python's teardown. A callback of the program allocates a block before that."""
    train()
    atexit.register(lambda: torch.empty(3 << 20, dtype=torch.uint8, device='cuda'))
    globals()['last'] = torch.empty(5 << 20, dtype=torch.uint8, device='cuda')


if __name__ == '__main__':
    globals()[sys.argv[1]]()
    common.report(steps=list(steps.values()), **printed)
