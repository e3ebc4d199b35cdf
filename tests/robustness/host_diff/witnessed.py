# SPDX-License-Identifier: MIT
"""Runs a program with witnesses around the place of the recorder, and compares what they saw of each process."""

import collections
import dataclasses
import os
import re

import compare
import other_users
from snapshots import BUILD, SHIM

HERE = os.path.join(BUILD, "tests", "robustness", "host_diff")
FIRST, LAST = (os.path.join(HERE, f"libwitness-{name}.so") for name in ("first", "last"))
FOLDER = "witnessed"
# Who waits for another program calls these until it is there: how often is chance.
ASKED_AGAIN = {"sleep", "redis-cli"}
# How many threads of its compilers a JVM still has at its end follows what there was to compile, and when.
BY_CHANCE = {("java", "ends", "threads")}
# Which of its packs a process of git has read follows the times in the index, which are as fine as the kernel's clock.
MAPPED_BY_CHANCE = re.compile(r"mapped: .*/\.git/objects/pack/")
RUNS = 6  # without the recorder, at most
# The recorder's file and the libraries that it is linked to are in each process: the loader put them there.
LOADED = ("libz.so.", "libdl.so.", "libpthread.so.", "librt.so.", "libm.so.")


@dataclasses.dataclass
class Seen:
    """What one run showed: the outcome, and how often each process had each value of each fact."""

    outcome: compare.Outcome
    facts: dict  # (program, witness and moment, fact) -> Counter of values
    reports: int


def is_ours(line, preload):
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
                    not is_ours(line, preload)
                    and (program, moment, fact) not in BY_CHANCE
                    and not MAPPED_BY_CHANCE.match(line)
                ):
                    facts[program, f"{name} {moment}", fact][value] = (
                        1 if program in ASKED_AGAIN else facts[program, f"{name} {moment}", fact][value] + 1
                    )
    return facts, reports


def run(host, place, preload=None, libraries=None):
    """One run of a row, with the recorder (`preload`) or without it between the witnesses."""
    folder = os.path.join(place.folder, FOLDER)
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
    # Programs of some rows become another user, to whom the build folder may be closed.
    reachable = other_users.reachable if host.as_root else str
    preload = preload and reachable(preload)
    outcome = compare.run(row, place, ":".join(filter(None, (reachable(FIRST), preload, reachable(LAST)))), libraries)
    facts, reports = read_facts(folder, preload)
    return Seen(outcome, facts, reports)


def differences(plains, recorded, but=None):
    """
    What tells `recorded` from the runs without the recorder, one on a line, and how many facts were compared. What
    differs between the runs without the recorder is left out, and each fact for which but(fact) holds.
    """
    told = min(
        (compare.differences(one.outcome, other.outcome, recorded.outcome) for one, other in zip(plains, plains[1:])),
        key=len,
    )
    told, compared = [told] if told else [], 0
    for key in sorted(set(recorded.facts).union(*(plain.facts for plain in plains))):
        expected, *others = (plain.facts.get(key, {}) for plain in plains)
        got = recorded.facts.get(key, {})
        if any(expected != other for other in others) or (but and but(key[2])):
            continue
        compared += 1
        if expected != got:
            told.append(f"{' '.join(key[:2])}: {key[2]}: without the recorder {dict(expected)}, with it {dict(got)}")
    return "\n".join(told), compared


def compare_row(host, libraries=None, preload=SHIM, but=None):
    """Differences, how many facts were compared, and what was seen without the recorder."""
    with compare.Place() as place:
        plains = [run(host, place, None, libraries)]
        recorded = run(host, place, preload, libraries)
        told = True
        # By chance a program is ended by its pipe, or waits once more: then it does so without the recorder too.
        while told and len(plains) < RUNS:
            plains.append(run(host, place, None, libraries))
            told, compared = differences(plains, recorded, but)
        # What the recorder does is there each time.
        if told:
            told, compared = differences(plains, run(host, place, preload, libraries), but)
    return told, compared, plains[0]
