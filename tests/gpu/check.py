# SPDX-License-Identifier: MIT
"""The part of scripts/gpu-check that runs programs on the GPU and compares their recordings.

Needs only Python 3.8. Each check is a line of a section (verdict, check, detail), and a row of summary.json.
"""

import argparse
import json
import os
import subprocess
import sys

from bench import SOURCE, Bench, Table, last_line

sys.path.insert(1, os.path.join(SOURCE, "tests", "helpers"))
import calls
import exact
import harm
import compare_ledger
import lookups
import toolkit

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

    def __init__(self, bench, table, options):
        self.bench, self.table, self.options = bench, table, options
        self.torch, self.no_torch = None, "it was not asked for"
        # find_torch also finds the folder of a runtime from PyTorch's wheels.
        if not options.runtime or {"ledger", "pytorch"} & set(options.only):
            self.torch, self.no_torch = toolkit.find_torch(bench)
        self.runtimes = toolkit.find_runtimes(self.torch, options.runtime)
        headers = options.headers.split(":")
        self.version = toolkit.headers_version(headers)
        self.major = toolkit.runtime_for(self.runtimes, self.version)
        self.driver = toolkit.find_driver(bench.libraries)
        if self.torch:
            print(f"PyTorch {self.torch[0]} for CUDA {self.torch[1]}, {bench.python}")
        print(
            f"headers of CUDA {self.version // 1000}.{self.version % 1000 // 10}, runtimes: "
            f"{', '.join(self.runtimes.values()) or 'none'}",
            flush=True,
        )
        self.libraries = toolkit.place_libraries(bench, self.runtimes, self.major, self.driver) if self.driver else ""
        self.missing = toolkit.build_programs(
            bench, headers, {"cudart": self.runtimes.get(self.major), "cuda": self.driver}
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
        self.table.section("Where look-ups lead")
        if self.has("pointers"):
            lookups.check_lookups(self.bench, self.table, self.runtimes)

    def calls(self):
        self.table.section("Every hooked function, by every route")
        if self.has("snippets"):
            if self.bench.cli:
                calls.check_calls(self.bench, self.table, self.runtimes, self.libraries)
            else:
                calls.keep_calls(self.bench, self.table, self.runtimes, self.libraries)

    def host(self):
        self.table.section("The host")
        if self.has("bad-calls"):
            harm.check_bad_calls(self.bench, self.table)
        if self.has("deepbind", "libdeepbind.so"):
            harm.check_deepbind(self.bench, self.table)
        if self.has("busy-threads", "faults", "forks"):
            if self.bench.cli:
                self.run_host_cases()
            else:
                self.table.add(
                    "programs on the CUDA runtime", "skipped", "without the CLI their recordings cannot be read here"
                )

    def run_host_cases(self):
        variables = {
            "GMT_TEST_PROGRAMS": self.bench.programs,
            "GMT_TEST_BUILD": self.bench.programs,
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
                cwd=toolkit.SHIM_TESTS,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
                timeout=300,
            )
            with open(self.bench.kept_path(case + ".log"), "w", encoding="utf-8") as file:
                file.write(done.stdout)
            name = case.split(".")[-1].replace("test_", "", 1).replace("_", " ")
            self.table.add(
                name,
                "FAILED" if done.returncode else "ok",
                last_line(without_end(done.stdout)) if done.returncode else "",
            )

    def captures(self):
        self.table.section("Stream captures")
        if self.has("captures"):
            harm.check_captures(self.bench, self.table)

    def costs(self):
        self.table.section("What contexts, code and limits take")
        if self.has("costs"):
            harm.check_costs(self.bench, self.table)

    def ledger(self):
        self.table.section("The ledger")
        if self.has("holdings"):
            compare_ledger.check_holdings(self.bench, self.table)
        if self.torch:
            compare_ledger.check_training(self.bench, self.table)
        else:
            self.table.add("the ledger of PyTorch", "skipped", self.no_torch)

    def pytorch(self):
        self.table.section("PyTorch")
        if not self.torch:
            self.table.add("PyTorch", "skipped", self.no_torch)
            return
        exact.check_demo(self.bench, self.table)
        for case in exact.EXACT:
            if not self.options.scripts or case[0] in self.options.scripts.split(","):
                exact.check_exact(self.bench, self.table, *case)

    def about(self):
        return {
            "torch": self.torch[0] if self.torch else None,
            "runtimes": sorted(self.runtimes),
            "driver": self.driver,
            "is_simulated": self.bench.is_simulated,
        }


def without_end(text):
    """Returns unittest's output without its last lines, which only say that a test failed."""
    return text.split("\n----------------------------------------------------------------------\nRan ")[0]


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compare_kept(bench, table):
    """Checks the recordings of a machine without the CLI."""
    about = json.loads(text_of(bench.kept_path("summary.json")))
    bench.is_simulated = about["is_simulated"]
    table.section("Kept: every hooked function")
    calls.compare_kept(bench, table)
    table.section("Kept: costs and the ledger")
    for name, judge in (("costs", harm.judge_costs), ("holdings", compare_ledger.judge_holdings)):
        files = bench.recordings(name)
        if files:
            judge(bench, table, text_of(bench.kept_path(name + ".out")), files[-1])
    for way in compare_ledger.WAYS:
        expected_path, files = bench.kept_path(f"ledger-{way}.json"), bench.recordings(f"ledger-{way}")
        if os.path.exists(expected_path) and files:
            compare_ledger.judge_training(bench, table, way, expected_path, files[-1])
    table.section("Kept: PyTorch")
    exact.compare_kept(bench, table)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="where the shim and the CLI were built")
    parser.add_argument("--shim")
    parser.add_argument("--cli", default="")
    parser.add_argument("--python", default="")
    parser.add_argument("--libraries", default="")
    parser.add_argument("--headers", default="")
    parser.add_argument("--runtime", default="", help="the simulated one; else it is looked for")
    parser.add_argument("--keep", required=True)
    parser.add_argument("--compare", action="store_true", help="only compare what is in --keep")
    parser.add_argument("--only", default="", help="sections, with commas between them")
    parser.add_argument("--scripts", default="", help="of the section pytorch, with commas between them")
    parser.add_argument("--seconds", type=float, default=400, help="what is not begun after that is skipped")
    parser.add_argument("--json", default="", help="path of the summary, in addition to --keep")
    parser.add_argument("--about", default="", help="a line on the machine")
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name] or SECTIONS
    wrong = [name for name in options.only if name not in SECTIONS]
    if wrong:
        parser.error(f"no section {wrong[0]}: {', '.join(SECTIONS)}")
    return options


def main():
    options = parse()
    bench, table, about = Bench(options), Table(), {"machine": options.about}
    if options.compare:
        compare_kept(bench, table)
    else:
        check = Check(bench, table, options)
        about.update(check.about())
        for name in SECTIONS:
            if name in options.only:
                getattr(check, name)()
        table.save(bench.kept_path("summary.json"), about)
    if options.json:
        table.save(options.json, about)
    print(
        f"\n{table.count('ok')} ok, {table.count('FAILED')} failed, {table.count('skipped')} skipped, "
        f"{table.count('noted')} noted"
    )
    sys.exit(1 if table.count("FAILED") or not (table.count("ok") or table.count("skipped")) else 0)


if __name__ == "__main__":
    main()
