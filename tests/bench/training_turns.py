# SPDX-License-Identifier: MIT
"""training_turns.py STEPS PAIRS shim|python|all: the transformer of tests/torch in one process, recorded and not, in turns.

What machines and processes differ by falls out of it. The recorder is the shim's, which is paused and resumed, or PyTorch's
own with the stacks it names. Each turn is STEPS steps, behind one that is not counted; which of a pair comes first is drawn
by lot. Prints JSON: for each pair, wall and processor milliseconds of a step recorded, and of one that is not.
"""
import ctypes
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
import transformer_loop as loop  # noqa: E402

WARM_UP_STEPS = 30  # all that is met for the first time


def switch_of(recorder):
    if recorder == "shim":
        shim = ctypes.CDLL(None)
        return lambda on: (shim.gpumemtrace_resume if on else shim.gpumemtrace_pause)()

    def switch(on):
        if on:
            torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks=recorder, max_entries=1_000_000)
        else:
            torch.cuda.memory._record_memory_history(enabled=None)
    return switch


def main():
    steps, pairs, switch = int(sys.argv[1]), int(sys.argv[2]), switch_of(sys.argv[3])
    model = nn.Sequential(*(loop.Block() for _ in range(loop.LAYERS)), nn.Linear(loop.WIDTH, loop.CLASSES))
    model = model.to(loop.DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())

    def turn(on):
        switch(on)
        loop.train(model, optimizer, 1)
        cpu_start, start = time.process_time(), time.perf_counter()
        loop.train(model, optimizer, steps)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        return wall * 1000 / steps, cpu * 1000 / steps

    switch(True)
    loop.train(model, optimizer, WARM_UP_STEPS)
    order, told = random.Random(1), []
    for _ in range(pairs):
        of_pair = {on: turn(on) for on in order.sample([True, False], 2)}
        told.append(of_pair[True] + of_pair[False])
    switch(True)
    # See training_loop.py.
    time.sleep(0.2)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
