# SPDX-License-Identifier: MIT
"""Runs a program with one witness library before and one after the recorder. Compares the facts that they report."""

import collections
import dataclasses
import os
import re

import compare
import other_users
from recorded_run import BUILD, SHIM

HERE = os.path.join(BUILD, "tests", "robustness", "host_diff")
FIRST, LAST = (os.path.join(HERE, f"libwitness-{name}.so") for name in ("first", "last"))
FOLDER = "witnessed"
# Scripts call these programs in a loop until another program is ready. The number of calls varies by chance.
ASKED_AGAIN = {"sleep", "redis-cli"}
# A JVM ends with a varying number of compiler threads: it depends on how much it compiled, and when.
BY_CHANCE = {("java", "ends", "threads")}
# git decides by the times in its index which packs it reads. These times are only as fine as the kernel's clock.
MAPPED_BY_CHANCE = re.compile(r"mapped: .*/\.git/objects/pack/")
RUNS = 6  # without the recorder, at most
# The loader maps the recorder's file and the libraries that it is linked to into each process.
LOADED = ("libz.so.", "libdl.so.", "libpthread.so.", "librt.so.", "libm.so.")


@dataclasses.dataclass
class Seen:
    """The result of one run: its outcome, and how often each process reported each value of each fact."""

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
    """Runs a row once. The recorder (`preload`), if given, is between the two witnesses."""
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
    # Programs of some rows change to another user, who may have no access to the build folder.
    reachable = other_users.reachable if host.as_root else str
    preload = preload and reachable(preload)
    outcome = compare.run(row, place, ":".join(filter(None, (reachable(FIRST), preload, reachable(LAST)))), libraries)
    facts, reports = read_facts(folder, preload)
    return Seen(outcome, facts, reports)


def differences(plains, recorded, but=None):
    """
    Returns the differences between `recorded` and the runs without the recorder, one per line, and the number of
    compared facts. Skips facts that already differ between the runs without the recorder, and facts for which
    but(fact) is true.
    """
    different = min(
        (compare.differences(one.outcome, other.outcome, recorded.outcome) for one, other in zip(plains, plains[1:])),
        key=len,
    )
    different, compared = [different] if different else [], 0
    for key in sorted(set(recorded.facts).union(*(plain.facts for plain in plains))):
        expected, *others = (plain.facts.get(key, {}) for plain in plains)
        got = recorded.facts.get(key, {})
        if any(expected != other for other in others) or (but and but(key[2])):
            continue
        compared += 1
        if expected != got:
            different.append(
                f"{' '.join(key[:2])}: {key[2]}: without the recorder {dict(expected)}, with it {dict(got)}"
            )
    return "\n".join(different), compared


def compare_row(host, libraries=None, preload=SHIM, but=None):
    """Returns the differences, the number of compared facts, and the first run without the recorder."""
    with compare.Place() as place:
        plains = [run(host, place, None, libraries)]
        recorded = run(host, place, preload, libraries)
        different = True
        # By chance a program dies of SIGPIPE or waits once more. More runs without the recorder then show the same.
        while different and len(plains) < RUNS:
            plains.append(run(host, place, None, libraries))
            different, compared = differences(plains, recorded, but)
        # A difference that the recorder causes appears again in a second run.
        if different:
            different, compared = differences(plains, run(host, place, preload, libraries), but)
    return different, compared, plains[0]
