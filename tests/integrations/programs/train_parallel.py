# SPDX-License-Identifier: MIT
"""usage: train.py ddp|fsdp2|pipeline|tensor

A training with PyTorch on many ranks: replicated (DDP), sharded (FSDP2), divided by layers (pipeline) or by columns and
rows of matrices (tensor). Gloo carries the data, because the simulated device has no NCCL. Prints of each rank the bytes
that it allocated at most.
"""

import os
import sys

import torch
import torch.distributed as dist

WIDTH, LAYERS, STEPS = 256, 8, 6


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, inputs):
        return inputs + self.down(torch.relu(self.up(inputs)))


def blocks(count=LAYERS):
    return torch.nn.Sequential(*(Block() for _ in range(count))).cuda()


def train(model, inputs, before_update=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    for _ in range(STEPS):
        model(inputs).square().mean().backward()
        before_update()
        optimizer.step()
        optimizer.zero_grad()


def train_ddp(inputs):
    train(torch.nn.parallel.DistributedDataParallel(blocks()), inputs)


def train_fsdp2(inputs):
    from torch.distributed.fsdp import fully_shard

    model = blocks()
    for block in model:
        fully_shard(block)
    train(fully_shard(model), inputs)


def train_pipeline(inputs):
    """Each rank has one stage. Four parts of the batch pass forward through all stages, then backward (GPipe)."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    stage = blocks(LAYERS // dist.get_world_size())
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.001, momentum=0.9)
    for _ in range(STEPS):
        passed = []
        for part in inputs.chunk(4):
            here = part.clone()
            if rank:
                host = torch.empty_like(here, device="cpu")
                dist.recv(host, rank - 1)
                here = host.cuda()
            here.requires_grad_()
            out = stage(here)
            if rank < last:
                dist.send(out.detach().cpu(), rank + 1)
            passed.append((here, out))
        for here, out in passed:
            if rank == last:
                out.square().mean().backward()
            else:
                host = torch.empty_like(out, device="cpu")
                dist.recv(host, rank + 1)
                out.backward(host.cuda())
            if rank:
                dist.send(here.grad.cpu(), rank - 1)
        optimizer.step()
        optimizer.zero_grad()


def train_tensor(inputs):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    model = blocks()
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    train(model, inputs)


def main():
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    {"ddp": train_ddp, "fsdp2": train_fsdp2, "pipeline": train_pipeline, "tensor": train_tensor}[sys.argv[1]](
        torch.randn(32, WIDTH, device="cuda")
    )
    print(f"rank {rank} peak {torch.cuda.max_memory_allocated()}", flush=True)
    dist.destroy_process_group()


main()
