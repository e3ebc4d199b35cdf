# SPDX-License-Identifier: MIT
"""torch_throws.py COUNT ROUNDS: prints the processor nanoseconds of one C++ exception in the fastest round.

PyTorch throws the exception in C++, and Python catches it as a RuntimeError.
"""

import sys
import time

import torch


def throw_many(tensor, count):
    start = time.thread_time_ns()
    for _ in range(count):
        try:
            tensor.view(7)
        except RuntimeError:
            pass
    return (time.thread_time_ns() - start) / count


def main():
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    # Allocates on the device, so that a recorder has already taken stacks with its unwinder.
    tensor = torch.empty(12, device="cuda")
    throw_many(tensor, count // 10)
    print(f"{min(throw_many(tensor, count) for _ in range(rounds)):.1f}")


if __name__ == "__main__":
    main()
