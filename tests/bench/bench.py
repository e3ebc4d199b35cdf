# SPDX-License-Identifier: MIT
"""Measures, and prints a table: see scripts/bench --help."""
import argparse
import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import time

import sampling
import sections


def describe_machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{system}, Linux {platform.release().split('-')[0]}",
        "load_average": round(os.getloadavg()[0], 1),
    }


def describe_source():
    done = subprocess.run(["git", "-C", sampling.SOURCE, "describe", "--always", "--dirty"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "no git"


def number(value):
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def with_unit(value, unit):
    return "" if value is None else f"{number(value)} {unit}"


def signed(value, unit):
    return "" if value is None else f"{value:+.1f} {unit}" if unit == "%" else f"{number(value)} {unit}"


def print_table(rows):
    table = [("", "min", "median", "", "of minima", "of pairs", "goal", "")]
    for row in rows:
        verdict = {None: "", True: "met", False: "NOT MET"}[row.met]
        goal = "" if row.goal is None else f"<= {row.goal} {row.unit if row.figure is None else row.figure_unit}"
        table.append((row.what, with_unit(row.low, row.unit), with_unit(row.middle, row.unit), row.compared,
                      signed(row.figure, row.figure_unit), signed(row.middle_figure, row.figure_unit), goal, verdict))
    widths = [max(map(len, column)) for column in zip(*table)]
    section = None
    for row, cells in zip([None, *rows], table):
        if row and row.section != section:
            section = row.section
            print(f"\n{section}")
        first, *rest = (cell.ljust(width) if i in (0, 3, 6) else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(cells, widths)))
        print(f"  {first}  {'  '.join(rest)}".rstrip())


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=(
        "Measures what recording costs, with and without the shim in turn, each time in a fresh process. "
        "'of minima' compares the least of all samples; 'of pairs' is the median over neighbouring runs."))
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--libraries", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="few samples: a look, not a measurement")
    parser.add_argument("--json", action="store_true", help="all samples, as JSON")
    parser.add_argument("section", nargs="*", help=f"any of {', '.join(sections.SECTIONS)}; all, unless named")
    options = parser.parse_args()
    for name in options.section:
        if name not in sections.SECTIONS:
            parser.error(f"no section is called {name}; there are {', '.join(sections.SECTIONS)}")

    machine = sampling.Machine(options.build, options.python, options.libraries)
    about = {**describe_machine(), "source": describe_source(), "device": "simulated" if options.libraries else "GPU",
             "date": time.strftime("%Y-%m-%d", time.gmtime())}
    rows = []
    try:
        for name in options.section or sections.SECTIONS:
            progress = sampling.Progress(name)
            rows += sections.SECTIONS[name](machine, options.quick, progress)
            progress.end()
    finally:
        shutil.rmtree(machine.folder, ignore_errors=True)

    if options.json:
        json.dump({"schema": "gpumemtrace.bench/1", **about, "quick": options.quick,
                   "rows": [{**dataclasses.asdict(row), "met": row.met} for row in rows]}, sys.stdout, indent=1)
        print()
        return
    print(f"gpumemtrace {about['source']}, {about['date']}, {about['device']} device; {about['cores']} x "
          f"{about['processor']}, {about['system']}, load {about['load_average']}\n")
    print_table(rows)


if __name__ == "__main__":
    main()
