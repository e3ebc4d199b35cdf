# SPDX-License-Identifier: MIT
"""usage: check_wheel.py WHEEL

Checks what a wheel promises. Prints a line for each file of machine code, and one for each rule that it breaks. The
exit status is 1 if a rule is broken. Needs readelf.
"""

import base64
import collections
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile

MAX_BYTES = 4 << 20

# Libraries that every system with this glibc has. Before 2.34, glibc has its threads and dlopen in libraries of their own.
SYSTEM_LIBRARIES = {
    *("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"),
    *("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"),
}
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
# The recorder is in every process of the user: it must not bring libraries that the program lacks.
SHIM = "gpumemtrace/lib/gpumemtrace/libgpumemtrace.so"
# The library that the Python package loads.
READER = "gpumemtrace/lib/libgpumemtrace-read.so.1"
NEEDED_FILES = {
    SHIM,
    "gpumemtrace/__init__.py",
    "gpumemtrace/__main__.py",
    "gpumemtrace/bin/gpumemtrace",
    "gpumemtrace/_library.py",
    "gpumemtrace/include/gpumemtrace-read.h",
    "gpumemtrace/include/gpumemtrace.h",
    "gpumemtrace/lib/gpumemtrace/libgmtunw.so.8",
    "gpumemtrace/lib/gpumemtrace/libgpumemtrace-audit.so",
    READER,
}

Elf = collections.namedtuple("Elf", "machine needed glibc exports")


def readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, path], capture_output=True, text=True, check=True).stdout


def look_into(path):
    """Returns what a file of machine code needs; None if the file is none."""
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    versions = [
        tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_([\d.]+)", readelf(path, "--version-info"))
    ]
    return Elf(
        re.search(r"Machine:\s+(.*)", readelf(path, "--file-header"))[1],
        set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(path, "--dynamic"))),
        max(versions, default=(0,)),
        set(re.findall(r" (?:GLOBAL|WEAK)\s+DEFAULT\s+\d+ (\S+)$", readelf(path, "--dyn-syms"), re.M)),
    )


def records_are_wrong(wheel, names):
    """Yields the names whose line in RECORD is missing or wrong."""
    (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
    lines = {row[0]: row[1] for row in csv.reader(io.StringIO(wheel.read(record).decode()))}
    for name in names:
        digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
        if name != record and lines.get(name) != f"sha256={digest}":
            yield name


def broken_rules(path):
    """Yields a line for each rule that the wheel breaks."""
    tag = re.search(r"-py3-none-manylinux_(\d+)_(\d+)_(x86_64|aarch64)\.whl$", path)
    if not tag:
        yield "its name has no tag py3-none-manylinux_A_B_ARCHITECTURE"
        return
    newest = (int(tag[1]), int(tag[2]))
    if os.path.getsize(path) > MAX_BYTES:
        yield f"it has {os.path.getsize(path)} bytes, {MAX_BYTES} are the limit"
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        names = wheel.namelist()
        for name in sorted(NEEDED_FILES - set(names)):
            yield f"{name} is missing"
        for name in records_are_wrong(wheel, names):
            yield f"{name}: RECORD has another content"
        for name in names:
            found = look_into(wheel.extract(name, folder))
            if not found:
                continue
            print(f"{name}: glibc {'.'.join(map(str, found.glibc))}, needs {' '.join(sorted(found.needed))}")
            yield from broken_rules_of_elf(name, found, newest, MACHINES[tag[3]])


def broken_rules_of_elf(name, found, newest, machine):
    if found.machine != machine:
        yield f"{name} is for {found.machine}"
    if found.glibc > newest:
        yield f"{name} needs glibc {'.'.join(map(str, found.glibc))}: older systems would start no process with it"
    if others := found.needed - SYSTEM_LIBRARIES:
        yield f"{name} needs {' '.join(sorted(others))}, which a system may lack"
    # A library in every process must not replace functions of the program's own libraries.
    foreign = {
        one for one in found.exports if re.match(r"(inflate|deflate|crc32|adler32|lzma_|BZ2_|elf_|dwarf_|z_)", one)
    }
    if name.endswith((".so", ".so.1", ".so.8")) and foreign:
        yield f"{name} exports names of its libraries: {' '.join(sorted(foreign)[:5])}"


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__.strip())
    broken = list(broken_rules(sys.argv[1]))
    for line in broken:
        print(f"{os.path.basename(sys.argv[1])}: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
