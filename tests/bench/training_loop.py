# SPDX-License-Identifier: MIT
"""training_loop.py STEPS ROUNDS none|python|all|profiler [PICKLE]: times the transformer of tests/torch/programs.

The third argument turns on PyTorch's own memory recorder, or its profiler with memory and stacks. Prints JSON:
milliseconds of a step in the fastest round, and processor milliseconds of a step over all rounds and all threads. The
profiler keeps all data in memory, so it starts and ends with each round; its start and end are not measured. PICKLE
receives the data of PyTorch's recorder.
"""

import contextlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch", "programs"))

import torch
from torch import nn
import transformer_loop as loop


def profiler():
    return torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, with_stack=True
    )


def main():
    steps, rounds, recorder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    model = nn.Sequential(*(loop.Block() for _ in range(loop.LAYERS)), nn.Linear(loop.WIDTH, loop.CLASSES))
    model = model.to(loop.DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    loop.train(model, optimizer, loop.WARM_UP_STEPS)
    if recorder in ("python", "all"):
        torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks=recorder, max_entries=10_000_000)

    round_ms, cpu_s = [], 0
    for _ in range(rounds):
        with profiler() if recorder == "profiler" else contextlib.nullcontext():
            cpu_start, start = time.process_time(), time.perf_counter()
            loop.train(model, optimizer, steps)
            round_ms.append((time.perf_counter() - start) * 1000 / steps)
            cpu_s += time.process_time() - cpu_start
    if len(sys.argv) > 4:
        torch.cuda.memory._dump_snapshot(sys.argv[4])
    # With PyTorch 2.15 an interpreter that ends while autograd's threads still settle down sometimes aborts with
    # "terminate called without an active exception".
    time.sleep(0.2)
    print(json.dumps({"wall_ms": min(round_ms), "cpu_ms": cpu_s * 1000 / (rounds * steps)}))


if __name__ == "__main__":
    main()
