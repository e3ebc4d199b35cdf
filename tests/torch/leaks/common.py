# SPDX-License-Identifier: MIT
"""The leaking scripts and the quiet scripts share this module: arguments, and the output at the end.

A leaking script has two versions: `SCRIPT leak` and `SCRIPT repaired` differ in the one or two lines that
its author would change. Each prints, as its last line, a JSON object with the bytes that PyTorch has
allocated after each step, and the number of the marked line that allocates the leak. This module
allocates no device memory.
"""

import json
import pathlib
import sys
import warnings

import torch

# The simulated device does not implement cuDNN. Its cublasLt answers "not supported", so PyTorch would warn.
torch.backends.cudnn.enabled = False
warnings.filterwarnings('ignore', message='.*cublasLt.*')


def arguments(steps=24):
    """Returns whether to leak, and the number of steps: SCRIPT [leak|repaired] [STEPS]"""
    mode = sys.argv[1] if len(sys.argv) > 1 else 'leak'
    if mode not in ('leak', 'repaired'):
        sys.exit(f'usage: {sys.argv[0]} [leak|repaired] [STEPS]')
    return mode == 'leak', int(sys.argv[2]) if len(sys.argv) > 2 else steps


def no_leak_steps(steps=40):
    """Returns the number of steps: SCRIPT [STEPS]"""
    return int(sys.argv[1]) if len(sys.argv) > 1 else steps


def marked_line(marker, path=None):
    """Returns the number of the only line that ends with a comment, by default in the script."""
    lines = pathlib.Path(path or sys.argv[0]).read_text().splitlines()
    number, = (number for number, line in enumerate(lines, 1) if line.rstrip(' */').endswith(marker))
    return number


def report(allocated, **more):
    """Prints the JSON object as the last line of the output. Omits values that are None."""
    print(json.dumps({'allocated': allocated, **{name: value for name, value in more.items() if value is not None}}))
