# SPDX-License-Identifier: MIT
"""Multiplies matrices on one more stream in each of its first steps: quiet_workspaces.py [STEPS]

PyTorch gives cuBLAS a workspace for each stream, when it is first used on it, for good.
"""

import torch

import common

STREAMS, WIDTH = 6, 512


def main():
    steps = common.quiet_steps()
    streams = []
    weights = torch.randn(WIDTH, WIDTH, device='cuda')
    allocated = []
    for step in range(steps):
        if step < STREAMS:
            streams.append(torch.cuda.Stream())
        stream = streams[step % STREAMS]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            product = torch.randn(WIDTH, WIDTH, device='cuda') @ weights
        torch.cuda.current_stream().wait_stream(stream)
        del product
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated)


if __name__ == '__main__':
    main()
