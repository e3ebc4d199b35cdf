#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the example of docs/ledger.md on the simulated device, and prints the outputs that the page shows.

usage: update_page.py BUILD_DIR [--update]

--update replaces the outputs in the page. Each output is the fenced block below a comment such as
`<!-- block: ledger -->`.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent / 'symptoms'))

import symptoms  # noqa: E402  (found by the line above)

PAGE = ROOT / 'docs' / 'ledger.md'
SOURCE = ROOT / 'tests' / 'torch' / 'programs' / 'backends.c'
EXTENSION = 'fused_ops.so'
CUPY = 'site-packages/cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so'  # the name that CuPy's allocator has
# Memory that PyTorch did not allocate: contexts, code, another process. The device is a tenth of a real one.
DEVICE = {'SIMCUDA_MEMORY': '8G', 'SIMCUDA_CONTEXT_MEMORY': '400M', 'SIMCUDA_MODULE_MEMORY': '256K',
          'SIMCUDA_OTHERS_MEMORY': '1500M'}
# Commands, each with the sections of its output that the page shows (see symptoms.shorten).
COMMANDS = [
    ('report --full train.gmt.gz', [('Where the memory', '')]),
    ('report --by owner train.gmt.gz', [('cuda on GPU 0', '')]),
]


def block(build):
    """Returns the text that the page shows."""
    build, text = pathlib.Path(build).resolve(), []
    cli = build / 'tools' / 'gpumemtrace'
    with tempfile.TemporaryDirectory(prefix='gpumemtrace-ledger.') as folder:
        libraries = [pathlib.Path(folder) / name for name in (EXTENSION, CUPY)]
        for library in libraries:
            library.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(['cc', '-g', '-O1', '-fPIC', '-shared', '-o', library, SOURCE], check=True)
        python = symptoms.Recordings(build, folder)
        variables = {**os.environ, 'GPUMEMTRACE_OPTIONS': '', **DEVICE, 'LD_LIBRARY_PATH': python.libraries}
        symptoms.run_recorded(
            [cli, 'run', '-q', '-o', 'train.gmt.gz', '--', python.python, HERE / 'train_with_other_allocators.py', *libraries],
            pathlib.Path(folder) / 'train.gmt.gz', env=variables, cwd=folder, timeout=300).check_returncode()
        for command, kept in COMMANDS:
            done = subprocess.run([cli, *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=True)
            text += [f'$ gpumemtrace {command}', *symptoms.shorten(done.stdout.splitlines(), kept, command)]
    return ''.join(line + '\n' for line in text)


def main():
    build, *rest = sys.argv[1:] or sys.exit(__doc__)
    shown = symptoms.written('ledger', block(build))
    if '--update' not in rest:
        print(shown)
        return
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(symptoms.BLOCK.sub(lambda found: shown, page), encoding='utf-8')


if __name__ == '__main__':
    main()
