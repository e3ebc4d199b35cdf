# SPDX-License-Identifier: MIT
"""training_turns.py STEPS PAIRS shim|python|all: the transformer of tests/torch/programs in one process, recorded and not, in turns.

So differences between machines and processes do not matter. `shim`: torch_report_switch.c is preloaded in front of the
shim, and sends PyTorch's reports of its blocks to the shim or past it. `python` and `all`: PyTorch's own recorder, with
these stacks, is switched on and off. Each turn is one step that does not count, and then STEPS steps. The order within a pair
is random. Prints JSON: for each pair, wall and processor milliseconds of a recorded step, and of an unrecorded step.
"""

import ctypes
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch", "programs"))

import torch
from torch import nn
import transformer_loop as loop

WARM_UP_STEPS = 30  # covers all work that happens only once


REPORT = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"


def address_of(library, symbol):
    """Returns the symbol's address in a loaded library. dlsym would return the recorder's address."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        mapped = [line.split() for line in maps]
    place, path = next((line[0], line[5]) for line in mapped if len(line) > 5 and os.path.basename(line[5]) == library)
    printed = subprocess.run(
        ["nm", "-D", "--defined-only", path],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    offset = next(line.split()[0] for line in printed.stdout.splitlines() if line.split()[-1] == symbol)
    return int(place.split("-")[0], 16) + int(offset, 16)


def switch_of(recorder):
    if recorder == "shim":
        report_to = ctypes.CDLL(None).bench_report_to
        ways = {
            on: ctypes.c_void_p(address_of(library, REPORT))
            for on, library in ((True, "libgpumemtrace.so"), (False, "libc10.so"))
        }
        return lambda on: report_to(ways[on])

    def switch(on):
        if on:
            torch.cuda.memory._record_memory_history(
                enabled="all", context="all", stacks=recorder, max_entries=1_000_000
            )
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
    order, printed = random.Random(1), []
    for _ in range(pairs):
        of_pair = {on: turn(on) for on in order.sample([True, False], 2)}
        printed.append(of_pair[True] + of_pair[False])
    switch(True)
    # training_loop.py gives the reason.
    time.sleep(0.2)
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
