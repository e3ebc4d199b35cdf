# SPDX-License-Identifier: MIT
"""Multiplies matrices on one more stream in each of its first steps: no_leak_workspaces.py [STEPS]

Each stream allocates its own scratch buffer at its first use and keeps it. cuBLAS has a workspace for each stream:
PyTorch 2.6 keeps it too. PyTorch 2.15 allocates it for each call, and so only reserves memory for each stream.
"""

import torch

import common

STREAMS, BATCH, WIDTH = 6, 16, 512


def main():
    steps = common.no_leak_steps()
    streams, scratch = [], {}
    weights = torch.randn(WIDTH, WIDTH, device='cuda')
    allocated, reserved = [], []
    for step in range(steps):
        if step < STREAMS:
            streams.append(torch.cuda.Stream())
        stream = streams[step % STREAMS]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            if stream not in scratch:
                scratch[stream] = torch.empty(BATCH, WIDTH, WIDTH, device='cuda')
            torch.matmul(torch.randn(BATCH, WIDTH, WIDTH, device='cuda'), weights, out=scratch[stream])
            norm = (scratch[stream][0] @ weights).norm()
        torch.cuda.current_stream().wait_stream(stream)
        allocated.append(torch.cuda.memory_allocated())
        reserved.append(torch.cuda.memory_reserved())
    print(f'last norm: {norm:g}')
    common.report(allocated, reserved=reserved)


if __name__ == '__main__':
    main()
