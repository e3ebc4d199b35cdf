# SPDX-License-Identifier: MIT
"""What a program holds on the GPU, summed over its Python objects, as one line of JSON; and the moment at which it is true."""

import json
import time

import torch


def storages(tensors):
    """The memory of tensors, each once: its address and size, as PyTorch rounds it."""
    return {
        tensor.untyped_storage().data_ptr(): (tensor.untyped_storage().nbytes() + 511) // 512 * 512
        for tensor in tensors
        if tensor.is_cuda
    }


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for part in value.values() for tensor in tensors_in(part)]
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors_in(part)]
    return []


def of_optimizers(*optimizers):
    parameters = [
        parameter for optimizer in optimizers for group in optimizer.param_groups for parameter in group['params']
    ]
    return {
        'parameters': parameters,
        'optimizer state': tensors_in([dict(optimizer.state) for optimizer in optimizers]),
        'gradients': [parameter.grad for parameter in parameters if parameter.grad is not None],
    }


def declare(**held):
    """Keywords are categories ('_' for ' '), values lists of tensors; a tensor counts in the first that has it."""
    counted, told = set(), {}
    for category, tensors in held.items():
        memory = {address: size for address, size in storages(tensors).items() if address not in counted}
        counted |= set(memory)
        told[category.replace('_', ' ')] = sum(memory.values())
    print(json.dumps({'time_ns': time.time_ns(), 'held': told}), flush=True)
