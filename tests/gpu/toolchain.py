# SPDX-License-Identifier: MIT
"""Finds CUDA and PyTorch on the machine, and builds the programs with them."""

import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

from runner import HERE, SOURCE, last_line

sys.path.append(os.path.join(SOURCE, "scripts"))
import cuda_functions

SHIM_TESTS = os.path.join(SOURCE, "tests", "shim")
SNIPPETS = os.path.join(SHIM_TESTS, "hooks", "programs")
# Name: sources (in this folder or in SHIM_TESTS), libraries to link, more arguments.
PROGRAMS = {
    "symbol-lookups": (["symbol_lookups.c"], [], []),
    "bad-calls": (["bad_calls.c"], ["cuda"], []),
    "stream-captures": (["stream_captures.c"], ["cuda"], []),
    "costs": (["costs.c"], ["cuda"], []),
    "memory-kinds": (["memory_kinds.c"], ["cuda"], []),
    "deepbind": (["deepbind.c"], [], []),
    "libdeepbind.so": (["deepbind_plugin.c"], ["cuda"], ["-shared", "-fPIC"]),
    "snippets": ("snippets", ["cudart", "cuda"], []),
    "busy-threads": (["producer/programs/busy_threads.c"], ["cudart"], []),
    "faults": (["lifecycle/programs/faults.c"], ["cudart"], []),
    "forks": (["lifecycle/programs/forks.c"], ["cudart"], []),
}


def find_torch(runner):
    """Returns (version, CUDA version, folder) of a PyTorch that can use the GPU, or why there is none."""
    program = (
        "import torch, os; print(torch.__version__, torch.version.cuda, torch.cuda.is_available(), "
        "os.path.dirname(torch.__file__), sep='\\n')"
    )
    if not runner.python:
        return None, "there is no python3"
    done = runner.run([runner.python, "-c", program])
    if done.code:
        return None, last_line(done.err)
    version, cuda, available, folder = done.out.splitlines()[-4:]
    if available != "True":
        return None, f"PyTorch {version} cannot use the GPU"
    return (version, cuda, folder), ""


def find_runtimes(torch, given):
    """Returns {major version: path} of each libcudart, from the toolkit or from PyTorch's wheels."""
    if given:
        return {
            int(path.rsplit(".", 1)[-1]): path
            for path in glob.glob(os.path.join(os.path.dirname(given), "libcudart.so.1[1-9]"))
        }
    patterns = [os.path.join(os.environ[key], "lib64") for key in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(key)]
    patterns += ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/usr/lib/*-linux-gnu", "/usr/lib64"]
    if torch:
        site_packages = os.path.dirname(torch[2])
        patterns += [os.path.join(site_packages, "nvidia", "*", "lib"), os.path.join(torch[2], "lib")]
    if os.environ.get("CONDA_PREFIX"):
        patterns.append(os.path.join(os.environ["CONDA_PREFIX"], "lib"))
    found = {}
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(pattern, "libcudart.so.1[1-9]"))):
            found.setdefault(int(path.rsplit(".", 1)[-1]), path)
    return found


def search_path(libraries):
    return [folder for folder in (libraries or os.environ.get("LD_LIBRARY_PATH", "")).split(":") if folder]


def find_driver(libraries):
    """Returns the path of the libcuda.so.1 that the loader finds."""
    for folder in search_path(libraries):
        path = os.path.join(folder, "libcuda.so.1")
        if os.path.exists(path):
            return path
    cache = subprocess.run(
        ["sh", "-c", "PATH=$PATH:/sbin ldconfig -p"], stdout=subprocess.PIPE, universal_newlines=True
    ).stdout
    found = re.findall(r"libcuda\.so\.1 .*=> (\S+)", cache)
    return found[0] if found else None


def headers_version(headers):
    """Returns CUDA_VERSION of the first cuda.h in these folders, or 0."""
    for folder in headers:
        try:
            with open(os.path.join(folder, "cuda.h"), encoding="utf-8", errors="replace") as file:
                version = re.search(r"^#define CUDA_VERSION (\d+)", file.read(), re.M)
        except OSError:
            continue
        if version:
            return int(version.group(1))
    return 0


def runtime_for(runtimes, version):
    """Returns the major version of the runtime to use: the headers' version if it exists, else the newest."""
    return version // 1000 if version // 1000 in runtimes else max(runtimes, default=None)


def write_weak_names(runner):
    """Declares the functions weak: older drivers and runtimes lack some of them, but linked programs must start."""
    with open(runner.program("weak.h"), "w", encoding="utf-8") as file:
        file.write("".join(f"#pragma weak linked_{row.symbol}\n" for row in cuda_functions.wrapped_rows()))


def sources_of(name):
    sources = PROGRAMS[name][0]
    if sources == "snippets":
        return sorted(glob.glob(os.path.join(SNIPPETS, "snippets*.c")))
    return [
        path if os.path.exists(path) else os.path.join(SHIM_TESTS, source)
        for source, path in ((source, os.path.join(HERE, source)) for source in sources)
    ]


def place_libraries(runner, runtimes, major, driver):
    """Makes a folder with the runtime and the driver under the names that programs use."""
    folder = os.path.join(runner.programs, "simcuda")  # as tests/helpers/recorded_run.py has it
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for number, path in runtimes.items():
        os.symlink(path, os.path.join(folder, f"libcudart.so.{number}"))
    if 13 not in runtimes and major:
        os.symlink(runtimes[major], os.path.join(folder, "libcudart.so.13"))  # the name in tests/shim
    if os.path.dirname(driver) in search_path(runner.libraries):
        # The loader finds the driver and its libraries only by the search path, and tests/shim sets its own path.
        for pattern in ("libcuda.so.1", "libnvidia-*.so*"):
            for path in glob.glob(os.path.join(os.path.dirname(driver), pattern)):
                os.symlink(path, os.path.join(folder, os.path.basename(path)))
    for entry in ("preload", "tools"):
        link = os.path.join(runner.programs, entry)
        if os.path.islink(link):
            os.unlink(link)
        os.symlink(os.path.join(runner.build, entry), link)
    return folder


def compile_one(runner, headers, paths, name):
    _, needs, more = PROGRAMS[name]
    command = [
        os.environ.get("CC", "cc"),
        "-std=gnu11",
        "-D_GNU_SOURCE",
        "-O0",
        "-g",
        "-w",
        *more,
        "-o",
        runner.program(name),
        "-include",
        runner.program("weak.h"),
        *sources_of(name),
        "-I" + os.path.join(SOURCE, "preload"),
        "-I" + SNIPPETS,
        "-I" + SOURCE,
    ]
    command += [] if runner.is_simulated else ["-DIS_REAL_DEVICE"]
    command += [argument for path in headers for argument in ("-isystem", path)]
    # The linker ignores symbols that the driver itself needs, or that an older driver lacks.
    command += [
        "-Wl,--allow-shlib-undefined",
        "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,-z,lazy",
        *(paths[need] for need in needs),
        "-ldl",
        "-lpthread",
    ]
    if any(not paths[need] for need in needs):
        return name, "there is no libcudart" if not paths["cudart"] else "there is no libcuda.so.1"
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    return name, f"not compiled: {first_error(done.stdout)}" if done.returncode else ""


def first_error(text):
    errors = [line for line in text.splitlines() if "error" in line]
    return (errors[0] if errors else last_line(text))[:200]


def build_programs(runner, headers, paths):
    """Compiles all programs. Returns {name: reason} for missing programs."""
    write_weak_names(runner)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return {
            name: why for name, why in pool.map(lambda name: compile_one(runner, headers, paths, name), PROGRAMS) if why
        }
