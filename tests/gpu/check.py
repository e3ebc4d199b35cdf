# SPDX-License-Identifier: MIT
"""The part of scripts/gpu-check that runs programs on the GPU and compares what was recorded.

Needs nothing but Python 3.8. Every check is a line of a table: what, verdict, detail.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
TORCH = os.path.join(SOURCE, "tests", "torch")
SHIM_TESTS = os.path.join(SOURCE, "tests", "shim")

# Script, its arguments, and whether PyTorch's reserved memory comes from plain cudaMalloc in it.
EXACT = [
    ("convnet.py", [], True),
    ("transformer_loop.py", ["5", "none"], True),
    ("gpt2.py", [], True),
    ("threads.py", [], True),
    ("pinned_loader.py", [], True),
    ("graph_replay.py", [], True),
    ("two_devices.py", [], True),
    ("expandable.py", [], False),
]
# What a machine may lack, by the exit message of who misses it.
LACKS = [("No module named", "a Python module is missing"), ("needs two devices", "there is one device")]

# C programs of tests/shim that go with a real runtime, and what they are linked to.
PROGRAMS = {
    "busy-threads": ("busy_threads.c", ["cudart"]),
    "faults": ("faults.c", ["cudart"]),
    "forks": ("forks.c", ["cudart"]),
    "plain": ("plain.c", ["cudart", "cuda"]),
}
SHIM_CASES = [
    "test_routes.Routes.test_plain_memory_is_one_exact_event_when_bound_by_the_linker",
    "test_routes.Routes.test_plain_memory_is_one_exact_event_when_found_by_dlsym",
    "test_routes.Routes.test_plain_memory_is_one_exact_event_when_found_by_cuGetProcAddress",
    "test_routes.Routes.test_a_runtime_call_is_one_event_under_its_own_name",
    "test_host.Host.test_error_codes_errno_and_the_last_error_are_the_drivers",
    "test_host.Host.test_refused_requests_and_frees_are_events_of_their_own",
    "test_host.Host.test_addresses_that_wander_between_threads_are_never_alive_twice",
    "test_host.Host.test_a_forked_child_writes_a_file_of_its_own_and_only_if_it_uses_cuda",
]


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, verdict, detail=""):
        self.rows.append((what, verdict, detail))
        print(f"{verdict:<8}{what}{': ' if detail else ''}{detail}", flush=True)

    def count(self, verdict):
        return sum(row[1] == verdict for row in self.rows)


class Bench:
    """The programs, the shim, and where recordings are kept."""

    def __init__(self, options):
        self.shim, self.cli, self.python = options.shim, options.cli, options.python
        self.libraries, self.keep = options.libraries, options.keep

    def environment(self, name=None):
        variables = dict(os.environ)
        if self.libraries:
            variables["LD_LIBRARY_PATH"] = self.libraries
        if name:
            variables["LD_PRELOAD"] = self.shim
            variables["GPUMEMTRACE_OPTIONS"] = "output='" + os.path.join(self.keep, name + ".%p.gmt.gz") + "'"
        return variables

    def record(self, name, command):
        """Runs under the shim. (exit code, all that it said, its snapshot or None)"""
        done = subprocess.run(command, env=self.environment(name), cwd=self.keep, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
        with open(os.path.join(self.keep, name + ".log"), "w", encoding="utf-8") as file:
            file.write(done.stdout + done.stderr)
        # Its own, not those of processes that it started.
        files = sorted(glob.glob(os.path.join(self.keep, name + ".*.gmt.gz")), key=os.path.getsize)
        return done.returncode, done.stdout + done.stderr, files[-1] if files else None

    def report(self, snapshot, *arguments):
        done = subprocess.run([self.cli, "report", *arguments, snapshot], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise ValueError(f"gpumemtrace report: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no word"


def compare_device(result, counts, reserved_by_malloc):
    """What differs between PyTorch's counts of a device and the report's."""
    device = counts["device"]
    layers = {layer["layer"]: layer for entry in result["devices"] if entry["device"] == device
              for layer in entry["layers"]}
    if not counts["allocated_count"]:
        return []
    if "torch" not in layers:
        return [f"GPU {device}: no block of PyTorch was recorded"]
    torch = layers["torch"]
    # Others than PyTorch's allocator may hold memory on a real device: theirs are other sites.
    cached = [site for site in result["sites"] if (site["layer"], site["device"]) == ("cuda", device) and
              any("libc10_cuda" in (frame["module"] or "") for frame in site["stack"])]
    pairs = [
        ("peak", torch["peak_bytes"], counts["max_memory_allocated"]),
        ("live", torch["live_bytes"], counts["memory_allocated"]),
        ("allocations", torch["alloc_count"], counts["allocated_count"]),
        ("frees", torch["free_count"], counts["freed_count"]),
    ]
    if reserved_by_malloc:
        pairs += [
            ("reserved", sum(site["live_bytes"] for site in cached), counts["memory_reserved"]),
            ("segments", sum(site["allocs"] for site in cached), counts["segment_count"]),
        ]
    return [f"GPU {device} {name}: recorded {ours}, PyTorch says {theirs}"
            for name, ours, theirs in pairs if ours != theirs]


def check_exact(bench, table, script, arguments, reserved_by_malloc):
    what = f"{script} equals PyTorch's own counts"
    name = os.path.splitext(script)[0]
    told_in = os.path.join(bench.keep, name + ".json")
    code, said, snapshot = bench.record(name, [bench.python, os.path.join(TORCH, script), *arguments, told_in])
    if code:
        for sign, meaning in LACKS:
            if sign in said:
                return table.add(what, "skipped", f"{meaning}: {last_line(said)}")
        return table.add(what, "FAILED", f"exit code {code}: {last_line(said)}")
    if not snapshot:
        return table.add(what, "FAILED", "nothing was recorded")
    if not bench.cli:
        return table.add(what, "skipped", f"recorded in {snapshot}; without the CLI there is no comparing here")
    return compare(bench, table, what, told_in, snapshot, reserved_by_malloc)


def compare(bench, table, what, told_in, snapshot, reserved_by_malloc):
    with open(told_in, encoding="utf-8") as file:
        told = json.load(file)
    try:
        result = json.loads(bench.report(snapshot, "--json", "--until", str(told["time_ns"])))
        whole = json.loads(bench.report(snapshot, "--json"))
    except ValueError as error:
        return table.add(what, "FAILED", str(error))
    wrong = [] if whole["complete"] else ["the recording is not complete"]
    wrong += [f"{whole['events']['dropped']} events were dropped"] if whole["events"]["dropped"] else []
    for counts in told["devices"]:
        wrong += compare_device(result, counts, reserved_by_malloc)
    if wrong:
        return table.add(what, "FAILED", "; ".join(wrong))
    peak = max(counts["max_memory_allocated"] for counts in told["devices"])
    return table.add(what, "ok", f"{whole['events']['recorded']} events, {peak} bytes at the peak")


def compare_kept(bench, table):
    """What another machine recorded, and could not compare."""
    for script, _, reserved_by_malloc in EXACT:
        name = os.path.splitext(script)[0]
        told_in = os.path.join(bench.keep, name + ".json")
        files = sorted(glob.glob(os.path.join(bench.keep, name + ".*.gmt.gz")), key=os.path.getsize)
        if os.path.exists(told_in) and files:
            compare(bench, table, f"{script} equals PyTorch's own counts", told_in, files[-1], reserved_by_malloc)


def check_demo(bench, table):
    script = os.path.join(SOURCE, "docs", "examples", "train.py")
    code, said, snapshot = bench.record("demo", [bench.python, script])
    if code or not snapshot:
        return table.add("docs/examples/train.py is recorded", "FAILED", f"exit code {code}: {last_line(said)}")
    if not bench.cli:
        return table.add("docs/examples/train.py is recorded", "ok", snapshot)
    report = bench.report(snapshot)
    with open(os.path.join(bench.keep, "demo.txt"), "w", encoding="utf-8") as file:
        file.write(report)
    lines = sorted(set(re.findall(r"train\.py:\d+ in \w+", report)))
    verdict = "ok" if lines else "FAILED"
    table.add("docs/examples/train.py is recorded, and its own lines are named", verdict, f"{len(lines)} lines of it")
    print("\n" + "\n".join("    " + line for line in report.splitlines()[:24]) + "\n")
    return None


def find_torch(bench):
    """(version, CUDA version, folder) of a PyTorch that can use the GPU; else why there is none."""
    program = ("import torch, os; print(torch.__version__, torch.version.cuda, torch.cuda.is_available(), "
               "os.path.dirname(torch.__file__), sep='\\n')")
    if not bench.python:
        return None, "there is no python3"
    done = subprocess.run([bench.python, "-c", program], env=bench.environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return None, last_line(done.stderr)
    version, cuda, available, folder = done.stdout.splitlines()[-4:]
    if available != "True":
        return None, f"PyTorch {version} cannot use the GPU"
    return (version, cuda, folder), ""


def find_runtime(torch):
    """A libcudart.so.NN: the toolkit's, or the one that PyTorch's wheels bring."""
    patterns = [os.path.join(os.environ[key], "lib64") for key in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(key)]
    patterns += ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/usr/lib/*-linux-gnu", "/usr/lib64"]
    if torch:
        site_packages = os.path.dirname(torch[2])
        patterns += [os.path.join(site_packages, "nvidia", "*", "lib"), os.path.join(torch[2], "lib")]
    if os.environ.get("CONDA_PREFIX"):
        patterns.append(os.path.join(os.environ["CONDA_PREFIX"], "lib"))
    for pattern in patterns:
        found = sorted(glob.glob(os.path.join(pattern, "libcudart.so.1[1-9]")))
        if found:
            return found[-1]
    return None


def find_driver(libraries):
    """libcuda.so.1, as the loader finds it."""
    for folder in (libraries or "").split(":"):
        path = os.path.join(folder, "libcuda.so.1")
        if folder and os.path.exists(path):
            return path
    cache = subprocess.run(["sh", "-c", "PATH=$PATH:/sbin ldconfig -p"], stdout=subprocess.PIPE, text=True).stdout
    found = re.findall(r"libcuda\.so\.1 .*=> (\S+)", cache)
    return found[0] if found else None


def build_programs(folder, headers, runtime, driver, is_simulated):
    """Compiles C programs against the real runtime. Why it did not work, or ''."""
    libraries = os.path.join(folder, "simcuda")  # where tests/snapshots.py looks for a runtime
    shutil.rmtree(libraries, ignore_errors=True)
    os.makedirs(libraries)
    os.symlink(runtime, os.path.join(libraries, os.path.basename(runtime)))
    if is_simulated:
        os.symlink(driver, os.path.join(libraries, "libcuda.so.1"))
    paths = {"cudart": runtime, "cuda": driver}
    for name, (source, needs) in PROGRAMS.items():
        command = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-w", "-o",
                   os.path.join(folder, name), os.path.join(SHIM_TESTS, source),
                   "-I" + os.path.join(SOURCE, "preload")]
        command += [argument for path in headers for argument in ("-isystem", path)]
        # What the driver itself needs is none of the link's business.
        command += ["-Wl,--allow-shlib-undefined", *(paths[need] for need in needs), "-ldl", "-lpthread"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return f"{source}: {last_line(done.stdout)}"
    return ""


def check_programs(bench, table, options, torch):
    what = "C programs on the CUDA runtime"
    runtime = options.runtime or find_runtime(torch)
    driver = find_driver(bench.libraries)
    if not runtime or not driver:
        return table.add(what, "skipped", f"no {'libcudart' if not runtime else 'libcuda.so.1'} was found")
    if not bench.cli:
        return table.add(what, "skipped", "without the CLI their recordings cannot be read here")
    why = build_programs(options.build, options.headers.split(":"), runtime, driver, bool(options.runtime))
    if why:
        return table.add(what, "FAILED", f"not compiled: {why}")
    if runtime.endswith(".13"):
        SHIM_CASES.append("test_routes.Routes.test_ctypes_users_are_recorded_with_their_python_stack")
    print(f"\n{what}, with {runtime}", flush=True)
    variables = {**bench.environment(), "GMT_TEST_PROGRAMS": options.build, "GMT_TEST_BUILD": options.build,
                 "PYTHONPATH": os.path.join(SOURCE, "tests"), "PYTHONDONTWRITEBYTECODE": "1"}
    variables.pop("LD_LIBRARY_PATH", None)  # the tests' own programs get one, by themselves
    for case in SHIM_CASES:
        done = subprocess.run([sys.executable, "-m", "unittest", case], cwd=SHIM_TESTS, env=variables,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
        with open(os.path.join(bench.keep, case + ".log"), "w", encoding="utf-8") as file:
            file.write(done.stdout)
        name = case.split(".")[-1].replace("test_", "", 1).replace("_", " ")
        wrong = re.findall(r"^(?:FAIL|ERROR): .*?(?:\(symbol=|\(|\[)?'?(\w+)'?[\])]*$", done.stdout, re.M)
        if done.returncode:
            table.add(name, "FAILED", f"{', '.join(wrong[:8])}: {last_line(without_end(done.stdout))}")
        else:
            table.add(name, "ok")
    return None


def without_end(text):
    """unittest's account without its last lines, which say only that something failed."""
    return text.split("\n----------------------------------------------------------------------\nRan ")[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--shim")
    parser.add_argument("--cli", default="")
    parser.add_argument("--python", default="")
    parser.add_argument("--libraries", default="")
    parser.add_argument("--headers", default="")
    parser.add_argument("--runtime", default="", help="the simulated one; else it is looked for")
    parser.add_argument("--keep", required=True)
    parser.add_argument("--compare", action="store_true", help="only compare what is in --keep")
    options = parser.parse_args()
    bench, table = Bench(options), Table()

    if options.compare:
        compare_kept(bench, table)
    else:
        torch, why = find_torch(bench)
        if torch:
            print(f"PyTorch {torch[0]} for CUDA {torch[1]}, {bench.python}\n", flush=True)
            check_demo(bench, table)
            for case in EXACT:
                check_exact(bench, table, *case)
        else:
            table.add("PyTorch", "skipped", why)
        check_programs(bench, table, options, torch)

    print(f"\n{table.count('ok')} ok, {table.count('FAILED')} failed, {table.count('skipped')} skipped")
    sys.exit(1 if table.count("FAILED") or not table.rows else 0)


if __name__ == "__main__":
    main()
