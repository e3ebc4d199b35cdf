# SPDX-License-Identifier: MIT
"""What programs of the corpus say of themselves: whether they leak, where, how fast and from which step on.

A program imports this, calls `end_of_step()` where one of its steps ends, and `declare()` as its last act:

    import truth
    for step in range(40):
        ...
        truth.end_of_step()
    truth.declare(truth.leak('# leaks here'))

The truth is what PyTorch itself says it holds, and what the program knows. Nothing in here allocates on a device.
"""

import json
import pathlib
import sys
import warnings

import torch

# The simulated device has no answers of cuDNN's; and cublasLt's "not supported" is worth no warning.
torch.backends.cudnn.enabled = False
warnings.filterwarnings('ignore', message='.*cublasLt.*')

_held_bytes = []


def _held_now():
    return sum(torch.cuda.memory_allocated(device) for device in range(torch.cuda.device_count()))


def end_of_step():
    """Notes what PyTorch holds now, on all devices."""
    _held_bytes.append(_held_now())


def line_of(marker, path=None):
    """The number of the one line of the program, or of another file, that ends with this comment."""
    lines = pathlib.Path(path or sys.argv[0]).read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.rstrip().endswith(marker))
    return number


def held_growth(first_step=2, last_step=None):
    """How much more PyTorch held after each step, on the average from one step to another; of a program with one leak."""
    last_step = len(_held_bytes) - 1 if last_step is None else last_step
    return (_held_bytes[last_step] - _held_bytes[first_step]) / (last_step - first_step)


def size_of(*tensors):
    """What PyTorch's allocator counts for them: multiples of 512 bytes."""
    return sum(-(-tensor.untyped_storage().nbytes() // 512) * 512 for tensor in tensors)


def leak(marker, bytes_per_step=None, first_step=0, path=None, sizes='equal', **more):
    """One leak: the line that allocates what stays (as it is marked), how fast it grows, the first step that leaves something.

    `sizes` says how the sizes of the blocks go, and so how exact a rate can be:
    'equal': each step that leaves something leaves as much. 'varying': blocks become larger from step to step, or smaller; the rate is
    what they hold, over the steps. 'doubling': one buffer is replaced by a larger one now and then; the rate is its last size over the steps.
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


def declare(*leaks, **more):
    """Prints the truth as the last line: no leaks means that the program is healthy.

    `steps_must_match=True`: the program has no optimizer, and the report must find as many steps as end_of_step() was called.
    """
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
