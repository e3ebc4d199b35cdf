# SPDX-License-Identifier: MIT
"""A training with PyTorch, one process for each device. Prints its rank and the bytes that it allocated at most."""

import os

import torch
import torch.distributed


def training_step(model, optimizer, inputs):
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def main():
    rank, local_rank = (int(os.environ.get(name, "0")) for name in ("RANK", "LOCAL_RANK"))
    torch.cuda.set_device(local_rank)
    if "WORLD_SIZE" in os.environ:
        torch.distributed.init_process_group("gloo")
    # Each rank has a size of its own, so that its recording is known by its bytes.
    model = torch.nn.Linear(256 * (rank + 1), 64).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(32, 256 * (rank + 1), device="cuda")
    for _ in range(10):
        training_step(model, optimizer, inputs)
    print(f"rank {rank} peak {torch.cuda.max_memory_allocated()}", flush=True)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


main()
