# SPDX-License-Identifier: MIT
"""What the leaking scripts and their quiet neighbours share: arguments, and the answers at the end.

A leaking script is both twins at once: `SCRIPT leak` and `SCRIPT repaired` differ in the line or two that
its author would change. Each prints, as its last line, a JSON object with what PyTorch had allocated
after each step and the line that allocates what is kept, which bears a comment. Nothing in here
allocates on a device.
"""

import json
import pathlib
import sys
import warnings

import torch

# The simulated device has no answers of cuDNN's; and cublasLt's "not supported" is worth no warning.
torch.backends.cudnn.enabled = False
warnings.filterwarnings('ignore', message='.*cublasLt.*')


def arguments(steps=24):
    """Whether to leak, and how many steps: SCRIPT [leak|repaired] [STEPS]"""
    mode = sys.argv[1] if len(sys.argv) > 1 else 'leak'
    if mode not in ('leak', 'repaired'):
        sys.exit(f'usage: {sys.argv[0]} [leak|repaired] [STEPS]')
    return mode == 'leak', int(sys.argv[2]) if len(sys.argv) > 2 else steps


def quiet_steps(steps=40):
    """How many steps: SCRIPT [STEPS]"""
    return int(sys.argv[1]) if len(sys.argv) > 1 else steps


def marked_line(marker, path=None):
    """The number of the one line, by default of the script, that ends with a comment."""
    lines = pathlib.Path(path or sys.argv[0]).read_text().splitlines()
    number, = (number for number, line in enumerate(lines, 1) if line.rstrip(' */').endswith(marker))
    return number


def report(allocated, **more):
    """Prints the JSON object, the last line of the output; what is None is left out."""
    print(json.dumps({'allocated': allocated, **{name: value for name, value in more.items() if value is not None}}))
