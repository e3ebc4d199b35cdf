# SPDX-License-Identifier: MIT
"""A training with DeepSpeed. Prints its rank and the bytes that it allocated at most."""

import os

import deepspeed
import torch

CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "zero_optimization": {"stage": int(os.environ.get("ZERO_STAGE", "1"))},
    "zero_allow_untested_optimizer": True,
}


def main():
    rank = int(os.environ["RANK"])
    deepspeed.init_distributed()
    model = torch.nn.Linear(256, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    # Each rank has a batch of its own size, so that its recording is known by its bytes.
    inputs = torch.randn(4096 * (rank + 1), 256, device=engine.device)
    for _ in range(10):
        engine.backward(engine(inputs).square().mean())
        engine.step()
    print(f"rank {rank} peak {torch.cuda.max_memory_allocated()}", flush=True)


main()
