# SPDX-License-Identifier: MIT
"""Runs cases of single-step.c and names the instructions with errors.

stepping.py OPERATION ACTION STACK STACKS EVERY [each|rare|lazy] runs one case and prints errors by function and line.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from recorded_run import BUILD, SHIM

FOLDER = os.path.join(BUILD, "tests", "robustness", "single_step")
STEPPER, TARGET, DRIVERS = (os.path.join(FOLDER, name) for name in ("single-step", "step-target", "driver"))
TIMEOUT_S = 7000
SHOWN = 12  # number of places that are printed for each kind of finding
COUNTS = re.compile(
    r"^(done|given up): (\d+) instructions of (\d+) steps, (\d+) positions once, (\d+) positions: (\d+) visited, (\d+) instructions, "
    r"(\d+) not reached; (\d+) processes, (\d+) children, (\d+) wrong$"
)
WRONG = re.compile(r"^wrong(?: at (0x[0-9a-f]+) pass (\d+))?: (.*)$")


class Case:
    """One run of the stepper. `counts` are by name, `found` maps each error to the offsets of its instructions."""

    def __init__(self, operation, action, stack="own", stacks="native", every=1, how=None):
        self.words = [operation, action, stack, stacks, str(every)] + ([how] if how else [])
        self.every, self.counts, self.found, self.code, self.text = every, {}, collections.OrderedDict(), None, ""

    def __str__(self):
        return " ".join(self.words)

    def run(self):
        folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        try:
            done = subprocess.run(
                [STEPPER, SHIM, DRIVERS, TARGET, folder, *self.words], capture_output=True, text=True, timeout=TIMEOUT_S
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.code, self.text = done.returncode, done.stderr
        for line in done.stdout.splitlines():
            counts, wrong = COUNTS.match(line), WRONG.match(line)
            if counts:
                names = (
                    "instructions",
                    "steps",
                    "once",
                    "positions",
                    "visited",
                    "instructions_visited",
                    "not_reached",
                    "processes",
                    "children",
                    "wrong",
                )
                self.counts = {"is_done": counts[1] == "done", **dict(zip(names, map(int, counts.groups()[1:])))}
            elif wrong:
                self.found.setdefault(wrong[3], []).append(wrong[1])
            else:
                self.text += line + "\n"
        return self

    @property
    def covers_all(self):
        """Returns whether the run visited each instruction of the recorder's path, or every n-th position."""
        counts = self.counts
        wanted = -(-counts["positions"] // self.every)
        return counts["is_done"] and counts["not_reached"] == 0 and counts["visited"] == wanted

    def explain(self):
        """Returns the errors and their places, as lines of text."""
        lines = [f"{self}: {self.counts or self.text}"]
        names = name_places({offset for offsets in self.found.values() for offset in offsets if offset})
        for what, offsets in sorted(self.found.items(), key=lambda item: -len(item[1])):
            lines.append(f"  {len(offsets)} times: {what}")
            by_function = collections.defaultdict(list)
            for offset in offsets:
                if offset:
                    by_function[tuple(function for function, _ in names[offset])].append(offset)
            for functions, places in sorted(by_function.items(), key=lambda item: -len(item[1]))[:SHOWN]:
                places.sort(key=lambda offset: int(offset, 16))
                source = sorted({names[offset][0][1] for offset in places})
                lines.append(
                    f"    {len(places):4} at {places[0]}..{places[-1]} {' < '.join(functions)} ({', '.join(source[:8])})"
                )
        return "\n".join(lines)


def name_places(offsets):
    """Returns functions and lines of the recorder's instructions. Inlined functions come before their callers."""
    offsets = sorted(offsets)
    names = {offset: [("", "")] for offset in offsets}
    if not offsets or not shutil.which("addr2line"):
        return names
    done = subprocess.run(["addr2line", "-a", "-i", "-f", "-s", "-e", SHIM, *offsets], capture_output=True, text=True)
    lines, current = iter(done.stdout.splitlines()), None
    for line in lines:
        if line.startswith("0x"):
            current = hex(int(line, 16))
            names[current] = []
        else:
            names[current].append((line, next(lines, "").split(" ")[0]))
    return names


def main():
    words = sys.argv[1:]
    case = Case(*words[:4], every=int(words[4]), how=words[5] if len(words) > 5 else None).run()
    print(case.explain())
    return case.code


if __name__ == "__main__":
    sys.exit(main())
