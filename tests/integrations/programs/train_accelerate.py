# SPDX-License-Identifier: MIT
"""A training with Accelerate. Prints its rank and the bytes that it allocated at most."""

import accelerate
import torch


def main():
    # The simulated device's NCCL moves no data between processes. Gloo does.
    backend = accelerate.InitProcessGroupKwargs(backend="gloo")
    accelerator = accelerate.Accelerator(kwargs_handlers=[backend])
    rank = accelerator.process_index
    model = torch.nn.Linear(256, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer = accelerator.prepare(model, optimizer)
    # Each rank has a batch of its own size, so that its recording is known by its bytes.
    inputs = torch.randn(4096 * (rank + 1), 256, device=accelerator.device)
    for _ in range(10):
        accelerator.backward(model(inputs).square().mean())
        optimizer.step()
        optimizer.zero_grad()
    print(f"rank {rank} peak {torch.cuda.max_memory_allocated()}", flush=True)
    accelerator.end_training()


main()
