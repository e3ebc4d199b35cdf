# SPDX-License-Identifier: MIT
"""Each corpus program declares here whether it leaks, at which line, how fast, and from which step on.

A program imports this module and calls `end_of_step()` at the end of each step. Its last call is `declare_leaks(...)`
or `declare_no_leak()`:

    import truth
    for step in range(40):
        ...
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks here'))

The declaration combines the bytes that PyTorch reports with what the program knows. This module allocates no device memory.
"""

import json
import pathlib
import sys
import warnings

import torch

# The simulated device does not implement cuDNN. Its cublasLt answers "not supported", so PyTorch would warn.
torch.backends.cudnn.enabled = False
warnings.filterwarnings('ignore', message='.*cublasLt.*')

_held_bytes = []


def _held_now():
    return sum(torch.cuda.memory_allocated(device) for device in range(torch.cuda.device_count()))


def end_of_step():
    """Stores how many bytes PyTorch holds now on all devices."""
    _held_bytes.append(_held_now())


def line_of(marker, path=None):
    """Returns the number of the only line that ends with the comment `marker`, in the program or in `path`."""
    lines = pathlib.Path(path or sys.argv[0]).read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.rstrip().endswith(marker))
    return number


def held_growth(first_step=2, last_step=None):
    """Returns the average growth per step, in bytes, of what PyTorch holds. It is a leak's rate if the program has only one leak."""
    last_step = len(_held_bytes) - 1 if last_step is None else last_step
    return (_held_bytes[last_step] - _held_bytes[first_step]) / (last_step - first_step)


def size_of(*tensors):
    """Returns the bytes that PyTorch's allocator counts for the tensors. It rounds each one up to a multiple of 512."""
    return sum(-(-tensor.untyped_storage().nbytes() // 512) * 512 for tensor in tensors)


def leak(marker, bytes_per_step=None, first_step=0, path=None, sizes='equal', **more):
    """Describes one leak: the line that ends with `marker` allocates the memory, and `first_step` is the first step that leaks.

    `sizes` says how the sizes of the blocks develop. The tolerance of the rate depends on it:
    'equal': each step that leaks leaks the same number of bytes.
    'varying': the blocks grow or shrink from step to step. The rate is the sum of their sizes, divided by the steps.
    'doubling': a larger buffer sometimes replaces the only buffer. The rate is its last size, divided by the steps.
    """
    assert sizes in ('equal', 'varying', 'doubling'), sizes
    rate = held_growth(max(first_step, 2)) if bytes_per_step is None else bytes_per_step
    return {
        'file': pathlib.Path(path or sys.argv[0]).name,
        'line': line_of(marker, path),
        'bytes_per_step': rate,
        'first_step': first_step,
        'sizes': sizes,
        **more,
    }


def declare_leaks(*leaks, **more):
    """Prints the leaks of the program (see `leak`) as the last line of its output.

    `steps_must_match=True` is for programs without an optimizer. The report must find one step for each call of end_of_step().
    """
    assert leaks, 'a healthy program calls declare_no_leak()'
    _declare(leaks, more)


def declare_no_leak(**more):
    """Prints that the program does not leak, as the last line of its output. `steps_must_match`: see `declare_leaks`."""
    _declare([], more)


def _declare(leaks, more):
    held_at_end = _held_now()
    print(
        json.dumps(
            {
                'leaks': leaks,
                'steps': len(_held_bytes),
                'held_bytes': _held_bytes,
                'held_at_end': held_at_end,
                'torch': torch.__version__,
                **more,
            }
        ),
        flush=True,
    )
