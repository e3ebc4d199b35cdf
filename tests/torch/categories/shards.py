# SPDX-License-Identifier: MIT
"""Trains with fully sharded data parallel. Parameters, gradients and state are shards; tensors are whole only while a layer runs."""

import tempfile

import torch
import torch.distributed
from torch.distributed.fsdp import fully_shard

import held_truth

with tempfile.TemporaryDirectory() as folder:
    torch.distributed.init_process_group('nccl', init_method=f'file://{folder}/meet', rank=0, world_size=1)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    fully_shard(model[0])
    fully_shard(model[2])
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(512, 1024, device='cuda')
    for step in range(6):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
    parts = {
        category: [tensor.to_local() if hasattr(tensor, 'to_local') else tensor for tensor in tensors]
        for category, tensors in held_truth.tensors_of_optimizers(optimizer).items()
    }
    held_truth.declare(**parts, inputs=[batch])
    torch.distributed.destroy_process_group()
