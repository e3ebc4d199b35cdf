# SPDX-License-Identifier: MIT
"""Prints as one line of JSON how many bytes a program's Python objects hold on the GPU, and when."""

import json
import time

import torch


def storages(tensors):
    """Returns address and size of each distinct storage of the tensors. Sizes are rounded up as PyTorch rounds them."""
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


def tensors_of_optimizers(*optimizers):
    parameters = [
        parameter for optimizer in optimizers for group in optimizer.param_groups for parameter in group['params']
    ]
    return {
        'parameters': parameters,
        'optimizer state': tensors_in([dict(optimizer.state) for optimizer in optimizers]),
        'gradients': [parameter.grad for parameter in parameters if parameter.grad is not None],
    }


def declare(**held):
    """Prints the bytes of each category. Keywords name categories ('_' for ' '). A tensor counts in the first only."""
    counted, printed = set(), {}
    for category, tensors in held.items():
        memory = {address: size for address, size in storages(tensors).items() if address not in counted}
        counted |= set(memory)
        printed[category.replace('_', ' ')] = sum(memory.values())
    print(json.dumps({'time_ns': time.time_ns(), 'held': printed}), flush=True)
