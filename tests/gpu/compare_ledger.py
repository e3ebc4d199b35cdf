# SPDX-License-Identifier: MIT
"""Compares the ledger of a device's memory in use, line by line, with the programs' own figures."""

import json
import os

from runner import HERE, last_line

SHARE = 0.01  # the share of the device that may be unexplained without a reason
WAYS = {
    "native": ("", "PyTorch's own allocator"),
    "expandable": ("expandable_segments:True", "PyTorch with expandable segments"),
    "malloc-async": ("backend:cudaMallocAsync", "PyTorch with cudaMallocAsync"),
}
COSTS = {"SIMCUDA_CONTEXT_MEMORY": "300M", "SIMCUDA_OTHERS_MEMORY": "1G", "SIMCUDA_MODULE_MEMORY": "3M"}
# For these lines the device may take more memory than the program requested.
PADDED = {"array", "device", "graph_used", "pool_cached"}


def lines_of(moment):
    return {line["name"]: line["bytes"] for line in moment["lines"]}


def unknown_lines(moment):
    return {line["name"] for line in moment["lines"] if not line["known"]}


def reason_for(moment, missing, managed_bytes):
    """Returns the reason in docs/ledger.md why so much may be unexplained, or ''."""
    if missing > 0 and "runtime" in unknown_lines(moment):
        return "NVML does not say what this process holds: its context and code are in it"
    if missing > 0 and "other_processes" in unknown_lines(moment):
        return "NVML does not list processes: other processes are in it"
    if 0 < missing <= managed_bytes:
        return f"managed memory, {managed_bytes} bytes"
    return ""


def judge_unexplained(table, what, moment):
    lines = lines_of(moment)
    missing, total = lines["unexplained"], moment["total_bytes"]
    share = missing / total if total else 0.0
    figures = {
        "unexplained_bytes": missing,
        "unexplained_share": round(share, 6),
        "used_bytes": moment["used_bytes"],
        "total_bytes": total,
        "lines": lines,
        "moved": moment["moved"],
    }
    detail = f"{missing} bytes of {moment['used_bytes']} in use, {share:.3%} of the device"
    if sum(lines.values()) != moment["used_bytes"]:
        table.add(
            what, "FAILED", f"the lines add up to {sum(lines.values())}, not to {moment['used_bytes']}", **figures
        )
    elif not total:
        table.add(what, "FAILED", "the device was never asked", **figures)
    elif abs(share) < SHARE:
        table.add(what, "ok", detail, **figures)
    else:
        reason = reason_for(moment, missing, moment.get("managed_bytes") or 0)
        table.add(what, "ok" if reason else "FAILED", f"{detail}{': ' if reason else ''}{reason}", **figures)


def show(columns):
    """Prints the lines of several moments in columns."""
    names = [name for name in next(iter(columns.values()))["lines"]]
    width = max([len(title) for title in columns] + [12]) + 2
    print("\n    " + f"{'MiB':<18}" + "".join(f"{title:>{width}}" for title in columns))
    for place, line in enumerate(names):
        amounts = [moment["lines"][place]["bytes"] for moment in columns.values()]
        if any(amounts):
            print(f"    {line['name']:<18}" + "".join(f"{amount / 2**20:>{width}.1f}" for amount in amounts))
    print(
        f"    {'in use':<18}"
        + "".join(f"{moment['used_bytes'] / 2**20:>{width}.1f}" for moment in columns.values())
        + "\n",
        flush=True,
    )


def ledger_at(runner, recording, time_ns=None, device=0):
    result = runner.json_report(recording, *(["--until", str(time_ns)] if time_ns else []))
    (row,) = [row for row in result["ledger"] if row["device"] == device] or [None]
    if row and row.get("at_peak"):
        row["at_peak"].setdefault("total_bytes", row["total_bytes"])
        row["at_peak"].setdefault("managed_bytes", row["managed_bytes"])
    return row


def same(name, ours, theirs, slack=0):
    return [] if abs(ours - theirs) <= slack else [f"{name}: {ours} instead of {theirs}"]


def check_memory_kinds(runner, table):
    run = runner.run([runner.program("memory-kinds")], name="memory-kinds", **(COSTS if runner.is_simulated else {}))
    with open(runner.kept_path("memory-kinds.out"), "w", encoding="utf-8") as file:
        file.write(run.out)
    if run.code or not run.file:
        table.add("a C program with memory of every kind", "FAILED", run.why() if run.code else "nothing was recorded")
    elif runner.cli:
        judge_memory_kinds(runner, table, run.out, run.file)
    else:
        table.add("a C program with memory of every kind", "skipped", run.not_compared())


def judge_memory_kinds(runner, table, out, recording):
    printed, moments = {}, {}
    for words in map(str.split, out.splitlines()):
        if words[0] == "moment":
            moments[words[1]] = [int(word) for word in words[2:]]
        else:
            printed[words[0]] = int(words[1])
    columns = {}
    for name, (time_ns, used_bytes, total_bytes) in moments.items():
        row = columns[name] = ledger_at(runner, recording, time_ns)
        if row is None:
            table.add("a C program with memory of every kind", "FAILED", "there is no ledger")
            return
        lines = lines_of(row)
        # Between the two answers other programs may allocate and free memory.
        wrong = same("in use", row["used_bytes"], used_bytes, 0 if runner.is_simulated else SHARE * total_bytes)
        wrong += same("the device", row["total_bytes"], total_bytes)
        table.judge(f"the ledger says what cuMemGetInfo says, {name}", wrong, f"{used_bytes} bytes")
        judge_unexplained(table, f"what a C program leaves unexplained, {name}", row)
        if name == "peak":
            printed["device"] += 256 << 20
            wrong = []
            for line, size in printed.items():
                exact = runner.is_simulated or line not in PADDED
                if lines[line] != size if exact else lines[line] < size:
                    wrong.append(f"{line}: {lines[line]} instead of {size}")
            printed["device"] -= 256 << 20
            table.judge(
                "each kind of memory has its line", wrong, ", ".join(f"{line} {size}" for line, size in printed.items())
            )
    columns["of the recording"] = ledger_at(runner, recording)["at_peak"]
    judge_unexplained(
        table, "what a C program leaves unexplained, at the peak of the recording", columns["of the recording"]
    )
    show(columns)


def check_training(runner, table):
    for way, (setting, title) in WAYS.items():
        expected_path = runner.kept_path(f"ledger-{way}.json")
        if runner.seconds_left() < 20:
            table.add(f"{title}: the ledger", "skipped", "no time is left")
            continue
        run = runner.run(
            [runner.python, os.path.join(HERE, "ledger_training.py"), expected_path],
            name=f"ledger-{way}",
            PYTORCH_CUDA_ALLOC_CONF=setting,
            PYTORCH_ALLOC_CONF=setting,
            **(COSTS if runner.is_simulated else {}),
        )
        if run.code or not run.file:
            table.add(
                f"{title}: the ledger",
                "FAILED",
                run.why() if run.code else f"nothing was recorded: {last_line(run.err)}",
            )
        elif runner.cli:
            judge_training(runner, table, way, expected_path, run.file)
        else:
            table.add(f"{title}: the ledger", "skipped", run.not_compared())


def judge_training(runner, table, way, expected_path, recording):
    title = WAYS[way][1]
    with open(expected_path, encoding="utf-8") as file:
        printed = json.load(file)
    row = ledger_at(runner, recording, printed["time_ns"])
    if row is None:
        table.add(f"{title}: the ledger", "FAILED", "there is none")
        return
    lines, counts = lines_of(row), printed["devices"][0]
    wrong = same(
        "in use",
        row["used_bytes"],
        printed["driver"]["used"],
        0 if runner.is_simulated else SHARE * printed["driver"]["total"],
    )
    if way == "malloc-async":
        wrong += same("reserved", lines["pool_used"] + lines["pool_cached"], counts["memory_reserved"])
    else:
        wrong += same("allocated", lines["torch_live"], counts["memory_allocated"])
        wrong += same("reserved", lines["torch_live"] + lines["torch_cached"], counts["memory_reserved"])
    table.judge(
        f"{title}: the ledger says what memory_stats() and mem_get_info() say",
        wrong,
        f"{counts['memory_allocated']} allocated, {counts['memory_reserved']} reserved, {printed['driver']['used']} in use",
    )
    judge_unexplained(table, f"{title}: what is unexplained at the end", row)
    columns = {"end": row}
    if row.get("at_peak"):
        judge_unexplained(table, f"{title}: what is unexplained at the peak", row["at_peak"])
        columns["peak"] = row["at_peak"]
    show(columns)
