# SPDX-License-Identifier: MIT
"""Measures, and prints a table. `scripts/bench --help` describes it."""

import argparse
import dataclasses
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time

import rows
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
    done = subprocess.run(
        ["git", "-C", sampling.SOURCE, "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return done.stdout.strip() or "no git"


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least one")
    return value


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=(
            "Measures what recording costs, with and without the shim in turn, each time in a fresh process. "
            "'of minima' compares the least of all samples; 'of pairs' is the median over neighbouring runs."
        ),
    )
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--libraries", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="few samples: a look, not a measurement")
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--processes",
        type=positive,
        metavar="N",
        help="processes of each variant, instead of each section's own number (start-up excepted)",
    )
    parser.add_argument("--json", action="store_true", help="all samples, as JSON")
    parser.add_argument("--markdown", action="store_true", help="tables as in docs/internals/performance")
    parser.add_argument("section", nargs="*", help=f"any of {', '.join(sections.SECTIONS)}; all, unless named")
    options = parser.parse_args()
    for name in options.section:
        if name not in sections.SECTIONS:
            parser.error(f"no section is called {name}; there are {', '.join(sections.SECTIONS)}")

    # After SIGTERM the program still removes its files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("scripts/bench: ended"))
    machine = sampling.Machine(options.build, options.python, options.libraries)
    effort = sampling.Effort("tiny" if options.tiny else "quick" if options.quick else "full", options.processes)
    about = {
        **describe_machine(),
        "source": describe_source(),
        "device": "simulated" if options.libraries else "GPU",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    if not options.json:
        print(
            f"gpumemtrace {about['source']}, {about['date']}, {about['device']} device; {about['cores']} x "
            f"{about['processor']}, {about['system']}, load {about['load_average']}",
            flush=True,
        )
    measured = []
    try:
        for name in options.section or sections.SECTIONS:
            progress = sampling.Progress(name)
            of_section = sections.SECTIONS[name](machine, effort, progress)
            progress.end()
            measured += of_section
            if not options.json:
                print((rows.markdown_of if options.markdown else rows.table_of)(of_section), flush=True)
    finally:
        shutil.rmtree(machine.folder, ignore_errors=True)

    if options.json:
        json.dump(
            {
                "schema": "gpumemtrace.bench/1",
                **about,
                "quick": options.quick,
                "load_average_after": round(os.getloadavg()[0], 1),
                "rows": [{**dataclasses.asdict(row), "met": row.met} for row in measured],
            },
            sys.stdout,
            indent=1,
        )
        print()
    else:
        print(f"\nload {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
