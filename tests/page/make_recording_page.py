# SPDX-License-Identifier: MIT
"""usage: make_recording_page.py [--kind KIND] TEMPLATE OUTPUT.html

Fills the template of page/build with the data of a simulated run. KIND is one of the names in KINDS.
"""

import argparse
import dataclasses

import simulated_report
import page_data
from simulated_run import Block, Frame, Run, simulate

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "\u202egnp.exe\u202c",
    "\x1b[31mred\x1b[0m\x07",
    "long " * 20000,
    "javascript:window.hacked=1",
    "{{constructor.constructor('window.hacked=1')()}}",
    "__proto__",
)


def one(*runs, **options):
    entry, packets = simulated_report.recording(0, list(runs), **options)
    return [entry], packets


def plain():
    return one(simulate())


def empty():
    run = Run()
    run.duration_ns = 0
    return one(run)


def one_event():
    run = Run()
    stack = (Frame("main", "/home/user/one.py", 3, own=True),)
    number = run.site(layer="cuda", category="other", owner="program", module="", operator="", part="other",
                      stack=stack, own=0)  # fmt: skip
    run.now = 1000
    run.add(Block(number, "cuda", 0, 4096, 1 << 40, 0), True)
    run.duration_ns = run.now + 1
    return one(run)


def two_devices():
    first, second = simulate(steps=12), simulate(steps=12, device=1, seed=7, scale=0.5, oom=False)
    offset = len(first.sites) - 1
    for block in second.blocks:
        block.site += offset
    shift_sites(second, offset)
    return one(first, second)


def shift_sites(run, offset):
    """Moves the run's sites behind those of the device before it."""
    run.sites = [None] * offset + run.sites
    run.refusals = [(time, size, site + offset) for time, size, site in run.refusals]


def hostile():
    run = simulate(steps=6, layers=2)
    for number, site in enumerate(run.sites[1:], 1):
        text = HOSTILE[number % len(HOSTILE)]
        frame = Frame(text, text, 7, text, own=True)
        run.sites[number] = dataclasses.replace(
            site, owner=text, module=f"model.{text}", operator=text, stack=(*site.stack, frame), own=len(site.stack)
        )
    run.phases = [(HOSTILE[0], *phase[1:]) for phase in run.phases]
    return one(run, title=HOSTILE[0], file=HOSTILE[1])


def many():
    entries, packets = [], {}
    for number in range(64):
        run = simulate(steps=6, layers=2, seed=number + 1, scale=1 + number % 5 / 10, oom=number == 17)
        entry, found = simulated_report.recording(number, [run], rank=number, file=f"rank-{number}.gmt.gz")
        entries.append(entry)
        packets |= found
    entries[9] = {**entries[9], "error": "the file is not a recording", "devices": []}
    return entries, packets


def two_recordings():
    entries, packets = [], {}
    for number, layers in enumerate((6, 8)):
        file = ("before.gmt.gz", "after.gmt.gz")[number]
        entry, found = simulated_report.recording(number, [simulate(steps=16, layers=layers)], file=file)
        entries.append(entry)
        packets |= found
    return entries, packets


def incomplete():
    return one(simulate(steps=3, oom=False), complete=False)


def freed():
    """Frees everything when it ends, as Python does. Nothing is live at the end, though the run leaks."""
    run = simulate(steps=24, layers=4, oom=False)
    for block in run.blocks:
        if block.layer == "torch" and block.end_ns < 0:
            run.free(block)
    run.duration_ns = run.now + 1_000_000
    return one(run)


KINDS = {
    "plain": plain,
    "empty": empty,
    "one-event": one_event,
    "two-devices": two_devices,
    "hostile": hostile,
    "many": many,
    "two-recordings": two_recordings,
    "incomplete": incomplete,
    "freed": freed,
}


def make(kind, template_path, output_path):
    entries, packets = KINDS[kind]()
    index = {"schema": "gpumemtrace.page/1", "made_by": "gpumemtrace 0.1.0", "recordings": entries}
    with open(template_path, encoding="utf-8") as file:
        template = file.read()
    with open(output_path, "w", encoding="utf-8") as file:
        file.write(page_data.make_page(template, index, packets))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("template")
    parser.add_argument("output")
    arguments = parser.parse_args()
    make(arguments.kind, arguments.template, arguments.output)
