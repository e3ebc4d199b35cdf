# SPDX-License-Identifier: MIT
"""Uses PyTorch's allocators in one of several ways: backends.py WAY [LIBRARY]

PYTORCH_CUDA_ALLOC_CONF selects the allocator, or a library for torch.cuda.memory.CUDAPluggableAllocator.
The last line is a list of quiet moments, with the counts of PyTorch and the driver at each moment.
"""
import ctypes
import json
import sys
import time

import torch
from torch import nn

import common
import convnet

MIB = 1 << 20

moments = []


def stats_by(function, *arguments):
    """Returns the answer of PyTorch, or None: some allocators do not support some queries."""
    try:
        return function(*arguments)
    except (RuntimeError, AttributeError):
        return None


def segments_of(device):
    """Returns for each segment its size, its allocated bytes, and whether it belongs to a private pool."""
    snapshot = stats_by(torch.cuda.memory_snapshot)
    return snapshot and [(segment['total_size'], segment['allocated_size'], any(segment['segment_pool_id']))
                         for segment in snapshot if segment['device'] == device]


def largest_hole():
    return max((part['size'] for segment in torch.cuda.memory_snapshot() for part in segment['blocks']
                if part['state'] == 'inactive'), default=0)


def stats_of_devices():
    torch.cuda.synchronize()
    printed = []
    for device in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(device)
        printed.append({'stats': stats_by(torch.cuda.memory_stats, device), 'segments': segments_of(device),
                     'used': total - free, 'total': total})
    return printed


def moment(name, **more):
    """Stores a moment and its counts. Nothing happens for a while before and after it."""
    before, devices = None, stats_of_devices()
    while devices != before:  # PyTorch's own threads may still release memory
        common.wait_for_sample()
        before = stats_of_devices()
        time.sleep(common.QUIET_SECONDS)
        time_ns = time.time_ns()
        time.sleep(common.QUIET_SECONDS)
        devices = stats_of_devices()
    moments.append({'name': name, 'time_ns': time_ns, 'devices': devices, **more,
                    'host': stats_by(getattr(torch.cuda, 'host_memory_stats', lambda: None))})
    time.sleep(common.QUIET_SECONDS)


def runtime():
    """Returns the file of the CUDA runtime that PyTorch has loaded."""
    with open('/proc/self/maps', encoding='utf-8') as maps:
        (path,) = {line.split()[-1] for line in maps if 'libcudart.so' in line}
    return path.encode()


def block(mib, device='cuda'):
    return torch.empty(mib * MIB, dtype=torch.uint8, device=device)


def train():
    """Trains for a few steps, allocates blocks of many sizes, and frees every second block."""
    convnet.train(steps=3)
    moment('trained')
    kept = [torch.empty(size, dtype=torch.uint8, device='cuda') for size in range(1000, 30_000_000, 700_000)]
    del kept[::2]
    moment('holes')
    torch.cuda.empty_cache()
    moment('emptied')
    kept.append(block(50))
    moment('grown')
    del kept
    torch.cuda.empty_cache()
    moment('given back')


def capture(pool=None):
    """Returns a graph of a training step, and its results."""
    model = nn.Linear(512, 512).to('cuda')
    batch = torch.zeros(64, 512, device='cuda')
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            model(batch).sum().backward()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = model(batch).relu() + 1
        result = torch.cat([result] * 100)
    return graph, result, model, batch


def graphs():
    first = capture()
    moment('captured')
    for _ in range(3):
        first[0].replay()
    moment('replayed')
    second = capture(first[0].pool())
    second[0].replay()
    first[0].replay()
    moment('shared')
    del second
    torch.cuda.empty_cache()
    moment('one deleted')
    first[0].reset()
    del first
    torch.cuda.empty_cache()
    moment('graphs deleted')


def pools():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [block(5), block(30)]
    outside = block(7)
    moment('pool')
    del kept
    moment('pool is free')
    del pool
    torch.cuda.empty_cache()
    moment('pool deleted')
    del outside


def pinned():
    kept = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for size in (1000, 3 * MIB, 7 * MIB)]
    moment('pinned')
    del kept[1:]
    moment('pinned cached')
    del kept
    torch._C._host_emptyCache()
    moment('pinned emptied')


def history():
    torch.cuda.memory._record_memory_history(max_entries=1000)
    kept = [block(3), block(21)]
    moment('history')
    torch.cuda.memory._record_memory_history(enabled=None)
    del kept


def two_devices():
    here, there = block(33), block(44, 'cuda:1')
    with torch.cuda.device(1):
        convnet.train('cuda:1', steps=1)
    moment('two devices')
    del here, there
    torch.cuda.empty_cache()
    moment('two devices emptied')


def pluggable(library):
    """Trains without PyTorch's own cache: each tensor is one call of the library."""
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, 'own_malloc', 'own_free')
    torch.cuda.memory.change_current_allocator(allocator)
    kept = [block(3), torch.ones(1000, 1000, device='cuda')]
    kept.append(kept[1] + 1)
    moment('pluggable')
    del kept
    moment('pluggable freed')


def pool_of_pluggable(library):
    """Allocates from a pool whose segments come from the library."""
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, 'own_malloc', 'own_free')
    pool = torch.cuda.MemPool(allocator.allocator())
    with torch.cuda.use_mem_pool(pool):
        kept = [block(5), block(30), torch.ones(1000, device='cuda')]
    outside = block(7)
    moment('pluggable pool')
    del kept, outside
    moment('pluggable pool is free')
    del pool
    torch.cuda.empty_cache()
    moment('pluggable pool deleted')


def sleeping(library):
    """Releases the memory of a pool that still has blocks, and maps it again at the same addresses."""
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, 'mapped_malloc', 'mapped_free')
    own = ctypes.CDLL(library)
    pool = torch.cuda.MemPool(allocator.allocator())
    with torch.cuda.use_mem_pool(pool):
        kept = [block(5), block(30), torch.ones(1000, device='cuda')]
    moment('awake')
    assert own.sleep_all() == 0
    moment('asleep')
    del kept[0]
    assert own.wake_all() == 0
    moment('awake again')
    del kept
    del pool
    torch.cuda.empty_cache()
    moment('sleeper deleted')


def side_by_side(*libraries):
    """Lets other libraries allocate next to PyTorch."""
    convnet.train(steps=2)
    kept = block(40)
    for library in libraries:
        assert ctypes.CDLL(library).get_memory(runtime(), ctypes.c_size_t(kept.nbytes // 4)) == 0
    moment('side by side')
    del kept
    torch.cuda.empty_cache()
    moment('side by side, emptied')


def refused():
    """Fills the device with small blocks and frees every second block. No large block fits then."""
    kept = []
    try:
        while True:
            kept.append(block(7))
    except torch.OutOfMemoryError:
        pass
    del kept[::2]
    try:
        block(500)
    except torch.OutOfMemoryError:
        moment('refused', hole=largest_hole())


WAYS = {
    'all': (train, graphs, pools, history, two_devices, pinned),
    'train': (train,),
    'async': (train, graphs),
    'refused': (refused,),
    'pluggable': (pluggable,),
    'side_by_side': (side_by_side,),
    'pluggable-pool': (pool_of_pluggable, sleeping),
}


if __name__ == '__main__':
    for part in WAYS[sys.argv[1]]:
        part(*sys.argv[2:])
    print(json.dumps(moments), flush=True)
