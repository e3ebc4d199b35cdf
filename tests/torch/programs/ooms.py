# SPDX-License-Identifier: MIT
"""Runs out of memory in one of several ways: ooms.py HOW

SIMCUDA_MEMORY sets the size of the device. Prints the answers of PyTorch and the runtime as JSON.
"""

import ctypes
import os
import signal
import sys

import torch

import common

MIB = 1 << 20


def make(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device='cuda')


def fill(mib):
    """Allocates until the memory is exhausted. Only these blocks hold it."""
    blocks = []
    while True:
        blocks.append(make(mib))


def caught():
    try:
        fill(100)
    except torch.OutOfMemoryError:
        pass
    make(100)
    return {}


def retry():
    """Fills the cache with blocks of another size. The driver refuses until PyTorch releases them."""
    blocks = [make(100) for _ in range(8)]
    del blocks
    kept = make(500)
    return {'retries': torch.cuda.memory_stats()['num_alloc_retries'], 'kept': kept.numel(),
            'ooms': torch.cuda.memory_stats()['num_ooms']}


def runtime():
    """Returns the CUDA runtime that PyTorch has loaded."""
    with open('/proc/self/maps', encoding='utf-8') as maps:
        (path,) = {line.split()[-1] for line in maps if 'libcudart.so' in line}
    return ctypes.CDLL(path)


def extension():
    """Requests memory directly from CUDA, which refuses. PyTorch then takes a block from its cache."""
    kept = make(600)
    spare = make(20)
    del spare
    block = ctypes.c_void_p()
    library = runtime()
    result = library.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(500 * MIB))
    peeked, got, then = library.cudaPeekAtLastError(), library.cudaGetLastError(), library.cudaGetLastError()
    kept = kept, make(20)
    return {'errors': [result, peeked, got, then], 'kept': len(kept)}


def fragmented():
    """Leaves as many cached bytes as the last request needs, but in pieces within segments in use."""
    kept = []
    for _ in range(4):
        segment = make(200)
        del segment
        kept.append((make(50), make(100), make(50)))
    kept = [(first, last) for first, _, last in kept]
    return {'kept': kept, 'last': make(300)}


def limited():
    torch.cuda.set_per_process_memory_fraction(0.25)
    make(400)


def captured():
    """Captures a graph while a request fails. The graph stays usable."""
    static = torch.zeros(MIB, device='cuda')
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    failed = False
    with torch.cuda.stream(stream):
        graph.capture_begin()
        doubled = static * 2
        try:
            make(5000)
        except torch.OutOfMemoryError:
            failed = True
        graph.capture_end()
    graph.replay()
    torch.cuda.synchronize()
    return {'failed': failed, 'doubled': doubled.numel()}


def aborts():
    try:
        fill(100)
    except torch.OutOfMemoryError:
        os.abort()


def killed():
    try:
        fill(100)
    except torch.OutOfMemoryError:
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    said = {'dies': lambda: fill(100), 'caught': caught, 'retry': retry, 'extension': extension, 'limited': limited,
            'fragmented': fragmented, 'captured': captured, 'aborts': aborts, 'killed': killed}[sys.argv[1]]()
    common.report(**said)


if __name__ == '__main__':
    main()
