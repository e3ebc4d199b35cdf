# SPDX-License-Identifier: MIT
"""Allocates and frees with PyTorch's own history, and writes its memory snapshot. Sizes are those that PyTorch hands out."""

import json
import sys

import torch

MiB = 1 << 20


def take(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def build():
    return [take(4 * MiB) for _ in range(4)]


def step(kept):
    large, small = take(24 * MiB), take(1024)
    kept.append(take(512))
    del large, small


def main():
    path, before = sys.argv[1], take(2 * MiB)
    freed = take(8 * MiB)
    torch.cuda.memory._record_memory_history(max_entries=100000)
    model, kept = build(), []
    del freed
    for _ in range(6):
        step(kept)
    torch.cuda.empty_cache()
    try:
        take(1 << 45)
    except torch.cuda.OutOfMemoryError:
        pass
    step(kept)
    torch.cuda.memory._dump_snapshot(path)
    stats = torch.cuda.memory_stats()
    keys = "allocated_bytes.all.peak", "allocated_bytes.all.current", "allocation.all.allocated", "allocation.all.freed"
    keys += "reserved_bytes.all.peak", "reserved_bytes.all.current"
    print(json.dumps({key: stats[key] for key in keys}))
    assert before is not None and len(model) == 4


main()
