# SPDX-License-Identifier: MIT
"""The part of scripts/gpu-check that runs programs on the GPU and compares their recordings.

Needs only Python 3.8. Each check is a line of a section (verdict, check, detail), and a row of summary.json.
"""

import argparse
import json
import os
import subprocess
import sys

from runner import SOURCE, Runner, Table, last_line

sys.path.insert(1, os.path.join(SOURCE, "tests", "helpers"))
import hooked_calls
import compare_pytorch
import side_effects
import compare_ledger
import symbol_lookups
import toolchain

SECTIONS = ["pointers", "calls", "host", "captures", "costs", "ledger", "pytorch"]
SNIPPETS_VERSION = 12050  # the version of the CUDA headers that the snippets need
TEST_FOLDERS = (("helpers",), ("shim", "hooks"), ("shim", "lifecycle"))
TEST_HOST = "test_host.Host.test_"
HOST_CASES = [
    "test_routes.Routes.test_a_runtime_call_is_one_event_under_its_own_name",
    f"{TEST_HOST}error_codes_errno_and_the_last_error_are_the_drivers",
    f"{TEST_HOST}refused_requests_and_frees_are_events_of_their_own",
    f"{TEST_HOST}an_address_passed_between_threads_is_never_live_twice",
    f"{TEST_HOST}a_forked_child_writes_its_own_file_only_if_it_uses_cuda",
]


class Check:
    """Runs all sections that the machine allows."""

    def __init__(self, runner, table, options):
        self.runner, self.table, self.options = runner, table, options
        self.torch, self.no_torch = None, "it was not asked for"
        # find_torch also finds the folder of a runtime from PyTorch's wheels.
        if not options.runtime or {"ledger", "pytorch"} & set(options.only):
            self.torch, self.no_torch = toolchain.find_torch(runner)
        self.runtimes = toolchain.find_runtimes(self.torch, options.runtime)
        headers = options.headers.split(":")
        self.version = toolchain.headers_version(headers)
        self.major = toolchain.runtime_for(self.runtimes, self.version)
        self.driver = toolchain.find_driver(runner.libraries)
        if self.torch:
            print(f"PyTorch {self.torch[0]} for CUDA {self.torch[1]}, {runner.python}")
        print(
            f"headers of CUDA {self.version // 1000}.{self.version % 1000 // 10}, runtimes: "
            f"{', '.join(self.runtimes.values()) or 'none'}",
            flush=True,
        )
        self.libraries = (
            toolchain.place_libraries(runner, self.runtimes, self.major, self.driver) if self.driver else ""
        )
        self.missing = toolchain.build_programs(
            runner, headers, {"cudart": self.runtimes.get(self.major), "cuda": self.driver}
        )

    def has(self, *names):
        """Returns whether all programs exist. Adds missing programs to the table."""
        lacking = [name for name in names if name in self.missing]
        for name in lacking:
            # A machine without a runtime, or with one that the programs do not support, is no failure.
            is_excused = "there is no lib" in self.missing[name] or (
                name == "snippets" and self.version < SNIPPETS_VERSION
            )
            self.table.add(
                f"the program {name} can be built", "skipped" if is_excused else "FAILED", self.missing[name]
            )
        return not lacking

    def pointers(self):
        self.table.section("Look-ups of the driver's functions")
        if self.has("symbol-lookups"):
            symbol_lookups.check_lookups(self.runner, self.table, self.runtimes)

    def calls(self):
        self.table.section("Every hooked function, by every route")
        if self.has("snippets"):
            if self.runner.cli:
                hooked_calls.check_calls(self.runner, self.table, self.runtimes, self.libraries)
            else:
                hooked_calls.keep_calls(self.runner, self.table, self.runtimes, self.libraries)

    def host(self):
        self.table.section("The host program")
        if self.has("bad-calls"):
            side_effects.check_bad_calls(self.runner, self.table)
        if self.has("deepbind", "libdeepbind.so"):
            side_effects.check_deepbind(self.runner, self.table)
        if self.has("busy-threads", "faults", "forks"):
            if self.runner.cli:
                self.run_host_cases()
            else:
                self.table.add(
                    "programs on the CUDA runtime", "skipped", "without the CLI their recordings cannot be read here"
                )

    def run_host_cases(self):
        variables = {
            "GMT_TEST_PROGRAMS": self.runner.programs,
            "GMT_TEST_BUILD": self.runner.programs,
            "PYTHONPATH": ":".join(os.path.join(SOURCE, "tests", *parts) for parts in TEST_FOLDERS),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        variables = {**os.environ, **variables}
        variables.pop("LD_LIBRARY_PATH", None)  # the tests set it for their own programs
        cases = HOST_CASES + (
            ["test_routes.Routes.test_ctypes_users_are_recorded_with_their_python_stack"] if 13 in self.runtimes else []
        )
        for case in cases:
            done = subprocess.run(
                [sys.executable, "-m", "unittest", case],
                cwd=toolchain.SHIM_TESTS,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
                timeout=300,
            )
            with open(self.runner.kept_path(case + ".log"), "w", encoding="utf-8") as file:
                file.write(done.stdout)
            name = case.split(".")[-1].replace("test_", "", 1).replace("_", " ")
            self.table.add(
                name,
                "FAILED" if done.returncode else "ok",
                last_line(without_end(done.stdout)) if done.returncode else "",
            )

    def captures(self):
        self.table.section("Stream captures")
        if self.has("stream-captures"):
            side_effects.check_captures(self.runner, self.table)

    def costs(self):
        self.table.section("Memory of contexts, code and limits")
        if self.has("costs"):
            side_effects.check_costs(self.runner, self.table)

    def ledger(self):
        self.table.section("The ledger")
        if self.has("memory-kinds"):
            compare_ledger.check_memory_kinds(self.runner, self.table)
        if self.torch:
            compare_ledger.check_training(self.runner, self.table)
        else:
            self.table.add("the ledger of PyTorch", "skipped", self.no_torch)

    def pytorch(self):
        self.table.section("PyTorch")
        if not self.torch:
            self.table.add("PyTorch", "skipped", self.no_torch)
            return
        compare_pytorch.check_demo(self.runner, self.table)
        for case in compare_pytorch.EXACT:
            if not self.options.scripts or case[0] in self.options.scripts.split(","):
                compare_pytorch.check_exact(self.runner, self.table, *case)

    def about(self):
        return {
            "torch": self.torch[0] if self.torch else None,
            "runtimes": sorted(self.runtimes),
            "driver": self.driver,
            "is_simulated": self.runner.is_simulated,
        }


def without_end(text):
    """Returns unittest's output without its last lines, which only say that a test failed."""
    return text.split("\n----------------------------------------------------------------------\nRan ")[0]


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compare_kept(runner, table):
    """Checks the recordings of a machine without the CLI."""
    about = json.loads(text_of(runner.kept_path("summary.json")))
    runner.is_simulated = about["is_simulated"]
    table.section("Kept: every hooked function")
    hooked_calls.compare_kept(runner, table)
    table.section("Kept: costs and the ledger")
    for name, judge in (("costs", side_effects.judge_costs), ("memory-kinds", compare_ledger.judge_memory_kinds)):
        files = runner.recordings(name)
        if files:
            judge(runner, table, text_of(runner.kept_path(name + ".out")), files[-1])
    for way in compare_ledger.WAYS:
        expected_path, files = runner.kept_path(f"ledger-{way}.json"), runner.recordings(f"ledger-{way}")
        if os.path.exists(expected_path) and files:
            compare_ledger.judge_training(runner, table, way, expected_path, files[-1])
    table.section("Kept: PyTorch")
    compare_pytorch.compare_kept(runner, table)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="where the shim and the CLI were built")
    parser.add_argument("--shim")
    parser.add_argument("--cli", default="")
    parser.add_argument("--python", default="")
    parser.add_argument("--libraries", default="")
    parser.add_argument("--headers", default="")
    parser.add_argument("--runtime", default="", help="the simulated CUDA runtime; by default a real one is searched")
    parser.add_argument("--keep", required=True, help="folder for recordings and logs")
    parser.add_argument("--compare", action="store_true", help="only compare the recordings in --keep")
    parser.add_argument("--only", default="", help="sections, separated by commas")
    parser.add_argument("--scripts", default="", help="scripts of the section pytorch, separated by commas")
    parser.add_argument("--seconds", type=float, default=400, help="time limit: later checks are skipped")
    parser.add_argument("--json", default="", help="path of the summary, in addition to --keep")
    parser.add_argument("--about", default="", help="a line about the machine")
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name] or SECTIONS
    wrong = [name for name in options.only if name not in SECTIONS]
    if wrong:
        parser.error(f"no section {wrong[0]}: {', '.join(SECTIONS)}")
    return options


def main():
    options = parse()
    runner, table, about = Runner(options), Table(), {"machine": options.about}
    if options.compare:
        compare_kept(runner, table)
    else:
        check = Check(runner, table, options)
        about.update(check.about())
        for name in SECTIONS:
            if name in options.only:
                getattr(check, name)()
        table.save(runner.kept_path("summary.json"), about)
    if options.json:
        table.save(options.json, about)
    print(
        f"\n{table.count('ok')} ok, {table.count('FAILED')} failed, {table.count('skipped')} skipped, "
        f"{table.count('noted')} noted"
    )
    sys.exit(1 if table.count("FAILED") or not (table.count("ok") or table.count("skipped")) else 0)


if __name__ == "__main__":
    main()
