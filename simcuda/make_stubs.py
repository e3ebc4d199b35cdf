#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes stub libraries for the libraries that an installed framework wheel needs and this machine lacks.

A CUDA wheel needs only a few hundred functions of NVIDIA's libraries. The wheel's own code does the
same before and after a kernel if the function that launches the kernel does nothing and returns
success. This script replaces each missing library by a stub with the right name and version nodes,
whose functions return 0. It does not write libcuda, libcudart and libnvidia-ml: these need
behaviour, and the simulated device has them.

    make_stubs.py --site-packages DIR --output DIR [--simcuda DIR] [--package NAME ...] [--opens MAJOR]
"""

import argparse
import concurrent.futures
import mmap
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Symbol prefix -> library. A longer prefix stands before its own shorter prefix: cusparseLt before
# cusparse, and cu last.
PREFIXES = {
    'cusparseLt': 'libcusparseLt.so',
    'cublasLt': 'libcublasLt.so',
    'cusolver': 'libcusolver.so',
    'cusparse': 'libcusparse.so',
    'nvJitLink': 'libnvJitLink.so',
    'nvshmem': 'libnvshmem_host.so',
    'cublas': 'libcublas.so',
    'curand': 'libcurand.so',
    'cuFile': 'libcufile.so',
    'cudnn': 'libcudnn.so',
    'cudss': 'libcudss.so',
    'cufft': 'libcufft.so',
    'cupti': 'libcupti.so',
    'nvrtc': 'libnvrtc.so',
    'nccl': 'libnccl.so',
    'nvml': 'libnvidia-ml.so',
    'nvtx': 'libnvToolsExt.so',
    '__cuda': 'libcudart.so',
    'cuda': 'libcudart.so',
    'cu': 'libcuda.so',
}

# The wheel opens these at run time. Only strings in the wheel show which functions it looks up.
OPENED_AT_RUN_TIME = {'nvml': 'libnvidia-ml.so.1'}

SIMULATED = ('libcuda.so', 'libcudart.so', 'libnvidia-ml.so')

# Every machine that runs Python has these. The script reads their symbols and never writes stubs for them.
SYSTEM_LIBRARIES = [
    'libc.so.6',
    'libm.so.6',
    'libstdc++.so.6',
    'libgcc_s.so.1',
    'libgomp.so.1',
    'libpthread.so.0',
    'libdl.so.2',
    'librt.so.1',
    'libutil.so.1',
    'libz.so.1',
    'ld-linux-x86-64.so.2',
    'ld-linux-aarch64.so.1',
]

# Libraries that frameworks open by name and link to nowhere: CUDA's major version -> the number at the end of the
# library's file name.
OPENED_BY_NAME = {
    'cublas': {12: 12, 13: 13},
    'cublasLt': {12: 12, 13: 13},
    'cudnn': {12: 9, 13: 9},
    'cufft': {12: 11, 13: 12},
    'cupti': {12: 12, 13: 13},
    'curand': {12: 10, 13: 10},
    'cusolver': {12: 11, 13: 12},
    'cusparse': {12: 12, 13: 12},
    'nccl': {12: 2, 13: 2},
    'nvJitLink': {12: 12, 13: 13},
    'nvrtc': {12: 12, 13: 13},
    'nvshmem': {12: 3, 13: 3},
}

# Functions in C, by library. Their callers read more than the result, and behave differently if the rest is empty.
ANSWERS = pathlib.Path(__file__).resolve().parent / 'stubs'

# A message names at most this many missing functions.
NAMED = 20

RETURNS_TEXT = re.compile(r'(Error|Status)(String|Name)$|GetLastError$')


class Elf:
    """The symbols that a shared object defines and needs, as readelf reports them."""

    def __init__(self, path):
        self.path = path
        self.soname = path.name
        self.needed = []
        self.defined = set()
        self.undefined = {}  # symbol -> version node or None
        self.version_files = {}  # version node -> library it is needed from
        text = subprocess.run(
            ['readelf', '--wide', '--dynamic', '--dyn-syms', '--version-info', str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        version_file = None
        for line in text.splitlines():
            if match := re.search(r'\((NEEDED|SONAME)\).*\[(.*)\]', line):
                if match[1] == 'NEEDED':
                    self.needed.append(match[2])
                else:
                    self.soname = match[2]
            elif match := re.search(r'Version: \d+ +File: (\S+)', line):
                version_file = match[1]
            elif match := re.search(r'^\s+0x[0-9a-f]+: +Name: (\S+) +Flags:.*Version: \d+', line):
                self.version_files[match[1]] = version_file
            else:
                self._add_symbol(line.split())

    def _add_symbol(self, fields):
        # Num: Value Size Type Bind Vis Ndx Name [(version index)]
        if len(fields) < 8 or not fields[0].rstrip(':').isdigit() or fields[4] not in ('GLOBAL', 'WEAK', 'UNIQUE'):
            return
        name, _, version = fields[7].partition('@')
        if fields[6] != 'UND':
            self.defined.add(name)
        elif fields[4] == 'GLOBAL':
            self.undefined[name] = version.lstrip('@') or None


def find_shared_objects(folder):
    for path in sorted(folder.rglob('*.so*')):
        if path.is_file() and not path.is_symlink():
            with open(path, 'rb') as file:
                if file.read(4) == b'\x7fELF':
                    yield path


def find_system_library(name):
    """Returns the path of a library that the compiler would link to, or None."""
    answer = subprocess.run(['gcc', '-print-file-name=' + name], capture_output=True, text=True, check=True)
    path = pathlib.Path(answer.stdout.strip())
    return path if path.is_absolute() and path.exists() else None


def find_names(path, prefixes):
    """Returns the strings of a file that look like functions with one of these prefixes."""
    pattern = re.compile(rb'\0((?:' + '|'.join(prefixes).encode() + rb')[A-Z]\w*)(?=\0)')
    with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return {match[1].decode() for match in pattern.finditer(data)}


def library_by_prefix(symbol, sonames):
    """Returns the library that a symbol without version belongs to, by its name, or None."""
    for prefix, stem in PREFIXES.items():
        if re.match(prefix + '[A-Z_]', symbol):
            known = [name for name in sonames if name.startswith(stem + '.') or name == stem]
            return known[0] if known else stem + '.1'
    return None


def is_simulated(soname):
    return soname.startswith(tuple(stem + '.' for stem in SIMULATED))


def collect(objects):
    """Returns the needed symbols as {soname: {symbol: version}}, and the symbols that fit no library."""
    own_files = {elf.path.name for elf in objects} | {elf.soname for elf in objects}
    own_symbols = set().union(*(elf.defined for elf in objects))
    needed = {name for elf in objects for name in elf.needed} - own_files
    system_symbols = set()
    for name in SYSTEM_LIBRARIES + sorted(needed):
        if not is_simulated(name) and (path := find_system_library(name)):
            system_symbols |= Elf(path).defined
            needed.discard(name)

    libraries = {name: {} for name in sorted(needed - set(SYSTEM_LIBRARIES))}
    unplaced = set()
    for elf in objects:
        for symbol, version in elf.undefined.items():
            if symbol in own_symbols or symbol in system_symbols or symbol.startswith(('Py', '_Py')):
                continue
            soname = elf.version_files.get(version) or library_by_prefix(symbol, sorted(needed))
            if soname is None or soname in SYSTEM_LIBRARIES:
                unplaced.add(symbol)
            else:
                libraries.setdefault(soname, {})[symbol] = version
    return libraries, unplaced


def add_opened_at_run_time(objects, libraries):
    for elf in objects:
        for name in find_names(elf.path, OPENED_AT_RUN_TIME):
            soname = OPENED_AT_RUN_TIME[re.match('[a-z]+', name)[0]]
            libraries.setdefault(soname, {}).setdefault(name, None)


def add_opened_by_name(objects, libraries, cuda_major):
    """Returns the libraries whose functions a wheel looks up by name. Only strings in the wheel show them."""
    for elf in objects:
        for name in find_names(elf.path, OPENED_BY_NAME):
            prefix = next(prefix for prefix in PREFIXES if re.match(prefix + '[A-Z]', name))
            stem = PREFIXES[prefix]
            if prefix in OPENED_BY_NAME:
                known = [soname for soname in libraries if soname.startswith(stem + '.')]
                soname = known[0] if known else f'{stem}.{OPENED_BY_NAME[prefix][cuda_major]}'
                libraries.setdefault(soname, {}).setdefault(name, None)


def answers_of(soname):
    """Returns the C file with a library's answers, and the names of its functions; (None, set()) without a file."""
    match = re.match(r'lib(\w+?)(_host)?\.so', soname)
    path = ANSWERS / f'{match[1]}.c' if match else None
    if not path or not path.exists():
        return None, set()
    with tempfile.TemporaryDirectory() as folder:
        compiled = pathlib.Path(folder) / soname
        subprocess.run(answer_command(soname, compiled, path), check=True)
        return path, Elf(compiled).defined


def answer_command(soname, output, *sources):
    major = re.search(r'\.so\.(\d+)', soname)
    return [
        'gcc',
        '-w',
        '-O1',
        '-shared',
        '-fPIC',
        '-I',
        ANSWERS,
        f'-DSTUB_MAJOR={major[1] if major else 1}',
        f'-Wl,-soname,{soname}',
        '-o',
        output,
        *sources,
        '-ldl',
    ]


def stub_source(symbols):
    lines = ['/* Written by make_stubs.py: every function says that all is well. */']
    for symbol in sorted(symbols):
        if RETURNS_TEXT.search(symbol):
            lines.append(f'const char *{symbol}(void) {{ return "stub"; }}')
        else:
            lines.append(f'long {symbol}(void) {{ return 0; }}')
    return '\n'.join(lines) + '\n'


def version_script(symbols):
    nodes = {}
    for symbol, version in symbols.items():
        if version:
            nodes.setdefault(version, []).append(symbol)
    return ''.join(f'{node} {{ global: {"; ".join(sorted(names))}; }};\n' for node, names in sorted(nodes.items()))


def build(output, soname, symbols):
    source = output / f'{soname}.c'
    answers, answered = answers_of(soname)
    source.write_text(stub_source(set(symbols) - answered))
    command = answer_command(soname, output / soname, source, *([answers] if answers else []))
    script = version_script(symbols)
    if script:
        script_file = output / f'{soname}.map'
        script_file.write_text(script)
        command.append(f'-Wl,--version-script={script_file}')
    subprocess.run(command, check=True)


def report_missing(simcuda, libraries):
    """Reports the functions that the wheel needs and the simulated libraries lack."""
    for soname, symbols in libraries.items():
        path = simcuda / soname
        if is_simulated(soname):
            missing = sorted(set(symbols) - Elf(path).defined) if path.exists() else sorted(symbols)
            if missing:
                more = f' and {len(missing) - NAMED} more' if len(missing) > NAMED else ''
                print(f'{soname}: the simulated one lacks {" ".join(missing[:NAMED])}{more}', file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--site-packages', type=pathlib.Path, required=True, help='where the wheel is installed')
    parser.add_argument('--output', type=pathlib.Path, required=True, help='folder for the stub libraries')
    parser.add_argument('--simcuda', type=pathlib.Path, help='folder of the simulated libraries, to check them too')
    parser.add_argument('--package', action='append', help='package to look into (default: torch)')
    parser.add_argument(
        '--opens',
        type=int,
        choices=(12, 13),
        metavar='MAJOR',
        help='the wheel opens libraries by name: those of CUDA 12 or 13',
    )
    arguments = parser.parse_args()

    paths = [
        path
        for package in arguments.package or ['torch']
        for path in find_shared_objects(arguments.site_packages / package)
    ]
    if not paths:
        sys.exit(f'make_stubs.py: no shared objects in {arguments.site_packages}')
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(Elf, paths))
        libraries, unplaced = collect(objects)
        add_opened_at_run_time(objects, libraries)
        if arguments.opens:
            add_opened_by_name(objects, libraries, arguments.opens)
        stubs = {soname: symbols for soname, symbols in libraries.items() if not is_simulated(soname)}
        arguments.output.mkdir(parents=True, exist_ok=True)
        for _ in pool.map(lambda item: build(arguments.output, *item), stubs.items()):
            pass

    if arguments.simcuda:
        report_missing(arguments.simcuda, libraries)
    if unplaced:
        print(f'not placed: {" ".join(sorted(unplaced))}', file=sys.stderr)
    count = sum(len(symbols) for symbols in stubs.values())
    print(f'{len(stubs)} stub libraries with {count} functions in {arguments.output}', file=sys.stderr)


if __name__ == '__main__':
    main()
