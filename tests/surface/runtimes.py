# SPDX-License-Identifier: MIT
"""NVIDIA's runtimes and headers, a fake driver that has all their names, and the runtimes' requests for symbols."""

import atexit
import dataclasses
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "scripts"))
import cuda_functions  # noqa: E402  (scripts/ is no package)

CC = os.environ.get("CC", "cc")
# A version later than all that exist.
FUTURE_VERSION = 13099
# Functions that fake_driver.c defines with behaviour. fake_driver.def has the others.
DEFINED_IN_FAKE_DRIVER = {"cuInit", "cuDriverGetVersion", "cuGetExportTable", "cuGetProcAddress", "cuGetProcAddress_v2"}


@functools.cache
def folders():
    """Returns {version: folder} of the installed runtimes; with --long, of each minor version."""
    command = [os.path.join(SOURCE, "scripts", "setup", "cuda-runtimes"), "--if-ready"]
    if os.environ.get("GMT_TEST_LONG"):
        command.append("--all")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return dict(line.split("\t") for line in done.stdout.splitlines())


@functools.cache
def folder():
    path = tempfile.mkdtemp(prefix="gpumemtrace-surface.")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def header(version):
    return cuda_functions.Header(os.path.join(folders()[version], "include", "cuda.h"))


def library(version):
    path = os.path.join(folders()[version], "lib")
    (name,) = [name for name in os.listdir(path) if re.fullmatch(r"libcudart\.so\.\d+(\.\d+)?", name)]
    return os.path.join(path, name)


def archive(version):
    """Returns the path of libcudart_static.a, or None. NVIDIA's packages have it from 12.9 on."""
    path = os.path.join(folders()[version], "lib", "libcudart_static.a")
    return path if os.path.exists(path) else None


def compile_c(target, *arguments):
    subprocess.run([CC, "-std=gnu11", "-D_GNU_SOURCE", "-O0", "-o", target, *arguments], check=True, timeout=120)
    return target


@functools.cache
def program(version=None):
    """Builds symbol_requests. If `version` is given, links the static runtime of that version. Returns the path."""
    source = os.path.join(HERE, "symbol_requests.c")
    if version is None:
        return compile_c(os.path.join(folder(), "symbol-requests"), "-rdynamic", source, "-ldl")
    return compile_c(
        os.path.join(folder(), f"symbol-requests-{version}"),
        "-rdynamic",
        "-DSTATIC_RUNTIME",
        source,
        archive(version),
        "-lpthread",
        "-ldl",
        "-lrt",
        "-lm",
    )


def fake_driver(name, entries, *arguments):
    """Builds a libcuda.so.1 that has these entries. Returns its folder."""
    path = os.path.join(folder(), name)
    os.makedirs(path)
    with open(os.path.join(path, "fake_driver.def"), "w", encoding="utf-8") as file:
        for entry in entries:
            if entry.symbol not in DEFINED_IN_FAKE_DRIVER:
                file.write(f"ENTRY({entry.symbol}, {entry.base}, {entry.since}, {int(entry.mode == 'PTDS')})\n")
    # -Bsymbolic: a driver returns its own functions, not a preload's functions with the same names.
    compile_c(
        os.path.join(path, "libcuda.so.1"),
        "-shared",
        "-fPIC",
        "-Wl,-Bsymbolic",
        "-I",
        path,
        *arguments,
        os.path.join(HERE, "fake_driver.c"),
    )
    return path


@dataclasses.dataclass
class Request:
    who: str
    route: str
    name: str
    version: int
    flags: int
    result: int
    object: str
    offset: int


def run_runtime(driver, version, static=False, preload=None, names=None, hides=False):
    """Runs the runtime of that version. Returns its requests as a list of Request, and its last output."""
    command = [program(version if static else None), library(version)]
    if names:
        command.append(names)
    variables = {**os.environ, "LD_LIBRARY_PATH": driver}
    if hides:
        variables["FAKE_DRIVER_HIDES"] = "1"
    if preload:
        output = os.path.join(folder(), "%p.gmt.gz")
        variables["GPUMEMTRACE_OPTIONS"] = f"output='{output}'"
        command = ["env", f"LD_PRELOAD={preload}", *command]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    *lines, last = done.stdout.splitlines()
    requests = []
    for line in lines:
        who, route, name, asked, flags, result, path, offset = line.split()
        requests.append(Request(who, route, name, int(asked), int(flags), int(result), path, int(offset, 16)))
    return requests, last


def after_start(requests):
    """Returns the requests that a runtime makes after its requests for cuGetProcAddress."""
    names = [request.name for request in requests]
    return [one for one in requests[names.index("cuInit") :] if not one.name.startswith("cuGetProcAddress")]


@functools.cache
def header_entries():
    """Returns {symbol: Entry} of all headers."""
    return {entry.symbol: entry for version in folders() for entry in header(version).driver_table}


@functools.cache
def runtime_entries():
    """Returns {symbol: the entries that NVIDIA's runtimes request}, and {version: its number of requests}.

    A runtime that finds no cuGetProcAddress requests the exact names of the same functions by dlsym, in the same order.
    """
    known = header_entries().values()
    driver, exact = fake_driver("headers", known), fake_driver("headers-exact", known, "-DEXACT_NAMES_ONLY")
    entries, counts = {}, {}
    for version in folders():
        by_name = after_start(run_runtime(driver, version)[0])
        by_symbol = after_start(run_runtime(exact, version)[0])
        if len(by_name) != len(by_symbol):
            raise AssertionError(f"{version}: {len(by_name)} requests by name, {len(by_symbol)} by symbol")
        counts[version] = len(by_name)
        for one, other in zip(by_name, by_symbol):
            if one.name != cuda_functions.base_of(other.name):
                continue  # 12.0 to 12.2 request cuGraphInstantiateWithParams_ptsz by its exact name
            entry = cuda_functions.Entry(other.name, one.name, one.version, "PTDS" if one.flags & 2 else "LEGACY")
            entries.setdefault(other.name, set()).add(entry)
    return entries, counts


@functools.cache
def entries():
    """Returns all known entries of the driver, from headers and runtimes."""
    result = dict(header_entries())
    for symbol, known in runtime_entries()[0].items():
        result.setdefault(symbol, min(known, key=lambda entry: entry.since))
    return result


@functools.cache
def entries_by_name(newest=FUTURE_VERSION):
    """Returns {name: its entries} of base names and exact names, for a driver of version `newest`."""
    known = [entry for entry in entries().values() if entry.since <= newest]
    result = {}
    for entry in known:
        result.setdefault(entry.base, []).append(entry)
    for entry in known:
        result.setdefault(entry.symbol, [entry])
    return result


def expected_symbol(name, version, flags, newest=FUTURE_VERSION):
    """Returns the exact symbol that a driver of version `newest` returns for a request, or None."""
    mode = "PTDS" if flags & 2 else "LEGACY"
    fitting = [
        entry
        for entry in entries_by_name(newest).get(name, [])
        if entry.since <= version and entry.mode in ("LEGACY", mode)
    ]
    best = max(fitting, key=lambda entry: (entry.since, entry.mode == mode), default=None)
    return best.symbol if best else None


@functools.cache
def symbols_of(path):
    """Returns {offset: name} of a library's functions, also of local functions."""
    done = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True, timeout=60)
    result = {}
    for line in done.stdout.splitlines():
        address, _, name = line.split()
        # A wrapper has two names. Its private name shows that it is a wrapper.
        if int(address, 16) not in result or name.startswith("gmt_wrap_"):
            result[int(address, 16)] = name
    return result


def answer_of(request):
    """Returns (library, function) of the answer to a request: ("shim", "cuMemAlloc_v2"), ("driver", ...), or None."""
    if request.object == "-":
        return None
    name = symbols_of(request.object).get(request.offset, f"+{request.offset:#x}")
    if os.path.basename(request.object) == "libgpumemtrace.so":
        return "shim", name.removeprefix("gmt_wrap_")
    return "driver", name.removeprefix("hidden_")
