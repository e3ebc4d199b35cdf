# SPDX-License-Identifier: MIT
"""training_loop.py STEPS ROUNDS none|python|all: times the transformer of tests/torch.

The last argument turns PyTorch's own memory recorder on. Prints JSON: milliseconds of a step in the
fastest round, and processor milliseconds of a step over all rounds and all threads.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
import transformer_loop as loop  # noqa: E402


def main():
    steps, rounds, recorder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    model = nn.Sequential(*(loop.Block() for _ in range(loop.LAYERS)), nn.Linear(loop.WIDTH, loop.CLASSES))
    model = model.to(loop.DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    loop.train(model, optimizer, loop.WARM_UP_STEPS)
    if recorder != "none":
        torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks=recorder, max_entries=1_000_000)

    round_ms = []
    cpu_start = time.process_time()
    for _ in range(rounds):
        start = time.perf_counter()
        loop.train(model, optimizer, steps)
        round_ms.append((time.perf_counter() - start) * 1000 / steps)
    cpu_ms = (time.process_time() - cpu_start) * 1000 / (rounds * steps)
    # An interpreter that ends while autograd's threads still settle down is aborted now and then, with
    # PyTorch 2.15, by "terminate called without an active exception".
    time.sleep(0.2)
    print(json.dumps({"wall_ms": min(round_ms), "cpu_ms": cpu_ms}))


if __name__ == "__main__":
    main()
