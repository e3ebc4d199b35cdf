# SPDX-License-Identifier: MIT
"""torch_throws.py COUNT ROUNDS: processor nanoseconds of one C++ exception that
PyTorch throws to Python, in the fastest round."""

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
    # On the device, so that a recorder has taken stacks and holds its unwinder.
    tensor = torch.empty(12, device="cuda")
    throw_many(tensor, count // 10)
    print(f"{min(throw_many(tensor, count) for _ in range(rounds)):.1f}")


if __name__ == "__main__":
    main()
