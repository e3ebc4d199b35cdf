# SPDX-License-Identifier: MIT
"""Trains with distributed data parallel. Gradients are views of the buckets that ranks exchange."""

import tempfile

import torch
import torch.distributed

import held_truth

with tempfile.TemporaryDirectory() as folder:
    torch.distributed.init_process_group('nccl', init_method=f'file://{folder}/meet', rank=0, world_size=1)
    layers = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(layers, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(512, 1024, device='cuda')
    for step in range(6):
        optimizer.zero_grad(set_to_none=False)
        model(batch).sum().backward()
        optimizer.step()
    held_truth.declare(**held_truth.tensors_of_optimizers(optimizer), inputs=[batch])
    torch.distributed.destroy_process_group()
