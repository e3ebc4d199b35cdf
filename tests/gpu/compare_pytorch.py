# SPDX-License-Identifier: MIT
"""Recordings of PyTorch equal PyTorch's own counts, to the byte."""

import json
import os
import re

from runner import SOURCE, last_line

TORCH = os.path.join(SOURCE, "tests", "torch", "programs")

# Script, its arguments, and whether PyTorch takes its reserved memory from plain cudaMalloc.
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
# Things that a machine may lack: (exit message of the script, reason in the table).
LACKS = [("No module named", "a Python module is missing"), ("needs two devices", "there is one device")]


def compare_device(result, counts, reserved_by_malloc):
    """Returns the differences between PyTorch's counts of a device and the report's."""
    device = counts["device"]
    layers = {
        layer["layer"]: layer for entry in result["devices"] if entry["device"] == device for layer in entry["layers"]
    }
    if not counts["allocated_count"]:
        return []
    if "torch" not in layers:
        return [f"GPU {device}: no block of PyTorch was recorded"]
    torch = layers["torch"]
    # On a real device not only PyTorch's allocator holds memory. Other owners have other sites.
    cached = [
        site
        for site in result["sites"]
        if (site["layer"], site["device"]) == ("cuda", device)
        and any("libc10_cuda" in (frame["module"] or "") for frame in site["stack"])
    ]
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
    return [
        f"GPU {device} {name}: recorded {ours}, PyTorch says {theirs}" for name, ours, theirs in pairs if ours != theirs
    ]


def check_exact(runner, table, script, arguments, reserved_by_malloc):
    what = f"{script} equals PyTorch's own counts"
    name = os.path.splitext(script)[0]
    expected_path = runner.kept_path(name + ".json")
    if runner.seconds_left() < 20:
        return table.add(what, "skipped", "no time is left")
    run = runner.run([runner.python, os.path.join(TORCH, script), *arguments, expected_path], name=name)
    if run.code:
        for sign, meaning in LACKS:
            if sign in run.said:
                return table.add(what, "skipped", f"{meaning}: {last_line(run.said)}")
        return table.add(what, "FAILED", run.why())
    if not run.file:
        return table.add(what, "FAILED", "nothing was recorded")
    if not runner.cli:
        return table.add(what, "skipped", run.not_compared())
    return compare(runner, table, what, expected_path, run.file, reserved_by_malloc)


def compare(runner, table, what, expected_path, recording, reserved_by_malloc):
    with open(expected_path, encoding="utf-8") as file:
        printed = json.load(file)
    try:
        result = runner.json_report(recording, "--until", str(printed["time_ns"]))
        whole = runner.json_report(recording)
    except ValueError as error:
        return table.add(what, "FAILED", str(error))
    wrong = [] if whole["complete"] else ["the recording is not complete"]
    wrong += [f"{whole['events']['dropped']} events were dropped"] if whole["events"]["dropped"] else []
    for counts in printed["devices"]:
        wrong += compare_device(result, counts, reserved_by_malloc)
    if wrong:
        return table.add(what, "FAILED", "; ".join(wrong))
    peak = max(counts["max_memory_allocated"] for counts in printed["devices"])
    return table.add(
        what,
        "ok",
        f"{whole['events']['recorded']} events, {peak} bytes at the peak",
        events=whole["events"]["recorded"],
        peak_bytes=peak,
    )


def compare_kept(runner, table):
    """Compares recordings of another machine that could not compare them itself."""
    for script, _, reserved_by_malloc in EXACT:
        name = os.path.splitext(script)[0]
        expected_path = runner.kept_path(name + ".json")
        files = runner.recordings(name)
        if os.path.exists(expected_path) and files:
            compare(
                runner, table, f"{script} equals PyTorch's own counts", expected_path, files[-1], reserved_by_malloc
            )


def check_demo(runner, table):
    what = "docs/examples/train.py is recorded"
    run = runner.run([runner.python, os.path.join(SOURCE, "docs", "examples", "train.py")], name="demo")
    if run.code or not run.file:
        return table.add(what, "FAILED", run.why() if run.code else "nothing was recorded")
    if not runner.cli:
        return table.add(what, "ok", run.file)
    report = runner.report(run.file)
    with open(runner.kept_path("demo.txt"), "w", encoding="utf-8") as file:
        file.write(report)
    lines = sorted(set(re.findall(r"train\.py:\d+ in \w+", report)))
    table.add(f"{what}, and its own lines are named", "ok" if lines else "FAILED", f"{len(lines)} lines of it")
    print("\n" + "\n".join("    " + line for line in report.splitlines()[:24]) + "\n")
    return None
