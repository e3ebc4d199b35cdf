# SPDX-License-Identifier: MIT
"""Runs a program with one witness library before and one after the recorder. Compares the facts that they report."""

import collections
import dataclasses
import os
import re

import compare_runs
import other_users
from recorded_run import BUILD, SHIM

HERE = os.path.join(BUILD, "tests", "robustness", "host_diff")
FIRST, LAST = (os.path.join(HERE, f"libwitness-{name}.so") for name in ("first", "last"))
FOLDER = "witnessed"
# Scripts call these programs in a loop until another program is ready. The number of calls varies by chance.
POLLED_PROGRAMS = {"sleep", "redis-cli"}
# A JVM ends with a varying number of compiler threads: it depends on how much it compiled, and when.
RANDOM_FACTS = {("java", "ends", "threads")}
# git decides by the times in its index which packs it reads. These times are only as fine as the kernel's clock.
RANDOM_MAPPINGS = re.compile(r"mapped: .*/\.git/objects/pack/")
MAX_PLAIN_RUNS = 6
# The loader maps the recorder's file and the libraries that it is linked to into each process.
LOADED = ("libz.so.", "libdl.so.", "libpthread.so.", "librt.so.", "libm.so.")


@dataclasses.dataclass
class WitnessedRun:
    """The result of one run: its outcome, and how often each process reported each value of each fact."""

    outcome: compare_runs.Outcome
    facts: dict  # (program, witness and moment, fact) -> Counter of values
    reports: int


def is_about_recorder(line, preload):
    return (preload and line.startswith(f"mapped: {os.path.dirname(preload)}/")) or (
        line.startswith("mapped: ") and os.path.basename(line).startswith(LOADED)
    )


def read_facts(folder, preload):
    facts, reports = collections.defaultdict(collections.Counter), 0
    for name in ("first", "last"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="backslashreplace") as file:
                content = file.read()
        except FileNotFoundError:
            continue
        for report in content.split("\x1e")[1:]:
            reports += 1
            title, *lines = report.splitlines()
            program, _, moment = title.rpartition(" ")
            for line in lines:
                fact, _, value = line.partition(": ")
                if (
                    not is_about_recorder(line, preload)
                    and (program, moment, fact) not in RANDOM_FACTS
                    and not RANDOM_MAPPINGS.match(line)
                ):
                    facts[program, f"{name} {moment}", fact][value] = (
                        1 if program in POLLED_PROGRAMS else facts[program, f"{name} {moment}", fact][value] + 1
                    )
    return facts, reports


def run(host, run_folder, preload=None, libraries=None):
    """Runs a row once. The recorder (`preload`), if given, is between the two witnesses."""
    folder = os.path.join(run_folder.path, FOLDER)
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o1777)
    for name in ("first", "last"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8"):
            pass
        os.chmod(path, 0o666)
    row = dataclasses.replace(
        host, environment={**host.environment, "GMT_WITNESS": folder}, ignored=(*host.ignored, "^" + FOLDER)
    )
    # Programs of some rows change to another user, who may have no access to the build folder.
    reachable = other_users.reachable if host.as_root else str
    preload = preload and reachable(preload)
    outcome = compare_runs.run(
        row, run_folder, ":".join(filter(None, (reachable(FIRST), preload, reachable(LAST)))), libraries
    )
    facts, reports = read_facts(folder, preload)
    return WitnessedRun(outcome, facts, reports)


def differences(plain_runs, recorded, is_expected=None):
    """
    Returns the differences between `recorded` and the runs without the recorder, one per line, and the number of
    compared facts. Skips facts that already differ between the runs without the recorder, and facts for which
    is_expected(fact) is true.
    """
    different = min(
        (
            compare_runs.differences(one.outcome, other.outcome, recorded.outcome)
            for one, other in zip(plain_runs, plain_runs[1:])
        ),
        key=len,
    )
    different, compared = [different] if different else [], 0
    for key in sorted(set(recorded.facts).union(*(plain.facts for plain in plain_runs))):
        expected, *others = (plain.facts.get(key, {}) for plain in plain_runs)
        got = recorded.facts.get(key, {})
        if any(expected != other for other in others) or (is_expected and is_expected(key[2])):
            continue
        compared += 1
        if expected != got:
            different.append(
                f"{' '.join(key[:2])}: {key[2]}: without the recorder {dict(expected)}, with it {dict(got)}"
            )
    return "\n".join(different), compared


def compare_row(host, libraries=None, preload=SHIM, is_expected=None):
    """Returns the differences, the number of compared facts, and the first run without the recorder."""
    with compare_runs.RunFolder() as run_folder:
        plain_runs = [run(host, run_folder, None, libraries)]
        recorded = run(host, run_folder, preload, libraries)
        different = True
        # By chance a program dies of SIGPIPE or waits once more. More runs without the recorder then show the same.
        while different and len(plain_runs) < MAX_PLAIN_RUNS:
            plain_runs.append(run(host, run_folder, None, libraries))
            different, compared = differences(plain_runs, recorded, is_expected)
        # A difference that the recorder causes appears again in a second run.
        if different:
            different, compared = differences(plain_runs, run(host, run_folder, preload, libraries), is_expected)
    return different, compared, plain_runs[0]
