# SPDX-License-Identifier: MIT
"""A training with a PyTorch that has only the optimizers' hooks: fake_training.py LIBRARY WAY

Prints the number of steps. `released` calls without the GIL, as PyTorch does. `held` calls with it.
"""

import atexit
import collections
import ctypes
import os
import sys
import threading
import time
import types

released = ctypes.CDLL(sys.argv[1])
held = ctypes.PyDLL(sys.argv[1])
optimizer = types.ModuleType("torch.optim.optimizer")
SOURCE = '''
import collections, itertools
_global_optimizer_post_hooks = collections.OrderedDict()

def register_optimizer_step_post_hook(hook):
    _global_optimizer_post_hooks[len(_global_optimizer_post_hooks)] = hook

def wrap(step):
    def wrapper(*args, **kwargs):
        self = args[0]
        step(*args, **kwargs)
        for hook in itertools.chain(_global_optimizer_post_hooks.values()):
            assert hook(self, args, kwargs) is None
    return wrapper

class Optimizer:
    @wrap
    def step(self):
        pass
'''
exec(compile(SOURCE, "optimizer.py", "exec"), optimizer.__dict__)
steps = 0


def show():
    sys.modules["torch.optim.optimizer"] = optimizer


def train(times=3):
    global steps
    own = optimizer.Optimizer()
    for _ in range(times):
        own.step()
        steps += 1


def wait_for_hook():
    """Releases the GIL until a hook exists, or for ever."""
    while not optimizer._global_optimizer_post_hooks:
        time.sleep(0.001)


def in_worker(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def main_released():
    show()
    released.fake_block()
    train()


def main_held():
    show()
    held.fake_block()
    train()


def worker_released():
    show()
    in_worker(lambda: (released.fake_block(), train()))


def worker_held():
    """The worker keeps the GIL. The recorder adds its hook when the worker releases it."""
    show()
    in_worker(lambda: (held.fake_block(), wait_for_hook(), train()))


def absent_at_first():
    released.fake_block()
    show()
    for _ in range(4):
        released.fake_block()
    train()


def absent_at_first_in_worker():
    in_worker(released.fake_block)
    show()
    in_worker(lambda: ([released.fake_block() for _ in range(4)], train()))


def main_stays_in_c():
    """The recorder asks the main thread first, which does not return to Python."""
    show()
    worker = threading.Thread(target=lambda: (time.sleep(0.1), released.fake_block(), train()))
    worker.start()
    released.fake_block_and_stay(400000)
    worker.join()


def native_thread_first():
    show()
    for _ in range(100):
        released.fake_block_on_native_thread()
    assert not optimizer._global_optimizer_post_hooks
    in_worker(lambda: (released.fake_block(), train()))


def while_hooks_are_called():
    """Another hook makes the first block. The recorder must not add a hook while PyTorch calls the hooks."""
    global steps
    show()
    optimizer.register_optimizer_step_post_hook(lambda *_: held.fake_block() and None)
    optimizer.register_optimizer_step_post_hook(lambda *_: None)
    train(2)
    steps = 0
    for _ in range(200):
        released.fake_block()
    train()


def without_a_place():
    """PyTorch keeps its hooks under another name."""
    hooks = optimizer._global_optimizer_post_hooks
    code = SOURCE.replace("_global_optimizer_post_hooks", "_elsewhere")
    del optimizer._global_optimizer_post_hooks, hooks
    exec(compile(code, "optimizer.py", "exec"), optimizer.__dict__)
    main_released()


def without_hooks():
    del optimizer.register_optimizer_step_post_hook
    main_released()


def forked():
    show()
    released.fake_block()
    train(2)
    in_child(lambda: (released.fake_block(), train(3)))


def forked_before():
    for _ in range(100):
        released.fake_block()
    show()
    in_child(lambda: (released.fake_block(), train(3)))
    for _ in range(100):
        released.fake_block()
    train(2)


def in_child(work):
    child = os.fork()
    if child == 0:
        work()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


def ending():
    """Python ends while the recorder waits for the GIL, which each thread keeps until it has finished.

    Python then frees the state of a waiting thread, and Python up to 3.13 may read that state later. The same is true
    for the program's own daemon threads. None of these threads may ask for the GIL again.
    """
    sys.setswitchinterval(10)
    # atexit calls the first callback last, after the recorder's. Before that the recorder may still ask for the GIL.
    atexit.register(held.fail_if_recorder_waits)
    threads = 3
    for _ in range(threads):
        threading.Thread(target=released.fake_blocks_for_ever, daemon=True).start()
    end = time.monotonic() + float(sys.argv[3])
    # A first block during atexit's callbacks is not covered (marks/interpreter.c). One thread asks for all threads,
    # maybe after another thread has made its block.
    while time.monotonic() < end or held.threads_with_blocks() < threads:
        pass
    show()
    globals()["late"] = Late(lambda: None)


class Late:
    def __init__(self, work):
        self.work = work

    def __del__(self, sleep=time.sleep):
        self.work()
        sleep(0.01)


def first_block_at_the_end():
    show()
    globals()["late"] = Late(released.fake_block)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
    if sys.argv[2] != "ending":  # to write is to let the GIL go
        print(steps, collections.Counter(thread.name for thread in threading.enumerate())["MainThread"], flush=True)
