# SPDX-License-Identifier: MIT
"""The recorder changes no result of bad calls, stream captures and symbol look-ups, and measures costs correctly."""

import re

from definitions import Kind, Space

MIB = 1 << 20
MODES = ["global", "thread-local", "relaxed"]
COST_SPACES = {"context": Space.CONTEXT, "module": Space.MODULE, "limit": Space.LIMIT}
COSTS = {"SIMCUDA_CONTEXT_MEMORY": "300M", "SIMCUDA_MODULE_MEMORY": "3M", "SIMCUDA_LIMIT_MEMORY": "1"}
DEEP_BYTES = 654321
# On a real device, other programs may allocate and free meanwhile.
SLACK_BYTES, SLACK_SHARE = 8 * MIB, 0.05


def check_bad_calls(runner, table):
    command = [runner.program("bad-calls")]
    plain, recorded = runner.run(command), runner.run(command, name="bad-calls")
    theirs, ours = plain.out.splitlines(), recorded.out.splitlines()
    if plain.code:
        table.add(
            "bad calls end without the recorder", "noted", f"{plain.why()}, after {theirs[-1] if theirs else 'nothing'}"
        )
    wrong = [f"'{mine}' instead of '{other}'" for other, mine in zip(theirs, ours) if mine != other]
    if len(theirs) != len(ours) or plain.code != recorded.code:
        wrong.append(f"ends with '{recorded.why()}' instead of '{plain.why()}'")
    refused = sum(": 0 " not in line and not line.startswith("taken") for line in theirs)
    table.judge(
        "bad calls have the same results as without the recorder",
        wrong,
        f"{len(theirs) - 1} calls, {refused} refused",
        calls=len(theirs),
        refused=refused,
    )
    if plain.code or recorded.code or not runner.cli:
        return
    if not recorded.file:
        table.add("the recording of bad calls is right", "FAILED", "nothing was recorded")
        return
    result = runner.json_report(recorded.file)
    layers = [layer for device in result["devices"] for layer in device["layers"] if layer["layer"] == "cuda"]
    live = sum(layer["live_bytes"] for layer in [*layers, result["host"]])
    wrong = [] if result["complete"] else ["it is not complete"]
    wrong += [f"{live} bytes are live after the reset"] if live else []
    wrong += [] if result["refused"] else ["no refusal is listed"]
    table.judge(
        "the recording of bad calls is right",
        wrong,
        f"{len(result['refused'])} refusals listed, no live block at the end",
    )


def numbers(text):
    """Returns {name: number} from the output of stream_captures.c."""
    return {name: int(number) for name, number in re.findall(r"^(?:worst )?(\w+) (-?\d+)$", text, re.M)}


def check_captures(runner, table):
    seconds = "0.5" if runner.is_simulated else "3"
    for mode in MODES:
        plain = runner.run([runner.program("stream-captures"), "queries", mode, seconds])
        printed = numbers(plain.out)
        if plain.code or not printed.get("captures"):
            table.add(f"streams can be captured, mode {mode}", "FAILED", plain.why())
            continue
        refused = [
            f"{name}: {printed[name]}"
            for name in ("cuMemGetInfo", "cuMemPoolGetAttribute", "cuDeviceGetGraphMemAttribute")
            if printed[name]
        ]
        table.judge(
            f"queries from a thread in relaxed mode invalidate no capture, mode {mode}",
            refused + ([f"{printed['spoilt']} of {printed['captures']} are invalid"] if printed["spoilt"] else []),
            f"{printed['captures']} captures, {printed['rounds']} rounds of queries{'' if not printed['nvml'] else ', no NVML'}",
            **printed,
        )
        check_recorded_captures(runner, table, mode, seconds)
    for mode in MODES[:2]:
        printed = numbers(runner.run([runner.program("stream-captures"), "queries-in-default-mode", mode, seconds]).out)
        refused = ", ".join(
            f"{name} returns {printed[name]}" for name in printed if name.startswith(("cu", "nvml")) and printed[name]
        )
        table.add(
            f"captures that queries from a thread in default mode invalidate, mode {mode}",
            "noted",
            f"{printed.get('spoilt')} of {printed.get('captures')}; {refused or 'no query was refused'}",
        )


def check_recorded_captures(runner, table, mode, seconds):
    what = f"no capture is invalid while the recorder queries the device as often as it may, mode {mode}"
    command = [runner.program("stream-captures"), "allocations", mode, seconds]
    plain, recorded = runner.run(command), runner.run(command, name=f"captures-{mode}")
    before, after = numbers(plain.out), numbers(recorded.out)
    if plain.code or recorded.code:
        table.add(what, "FAILED", (plain if plain.code else recorded).why())
    elif before["spoilt"]:
        table.add(what, "skipped", f"without the recorder, {before['spoilt']} of {before['captures']} are invalid too")
    else:
        samples = count_samples(runner, recorded.file)
        wrong = [f"{after['spoilt']} of {after['captures']} are invalid"] if after["spoilt"] else []
        wrong += ["the recorder made no query"] if samples == 0 else []
        table.judge(
            what,
            wrong,
            f"{after['captures']} captures, {'?' if samples is None else samples} samples",
            samples=samples,
            **after,
        )


def count_samples(runner, recording):
    if not runner.cli:
        return None
    return len(runner.call_cli("dump", "--json", "--record=sample", recording).splitlines()) if recording else 0


def check_deepbind(runner, table):
    command = [runner.program("deepbind"), runner.program("libdeepbind.so")]
    plain = runner.run(command)
    if plain.code:
        table.add("the driver's symbol table can be changed", "FAILED", f"without the recorder: {plain.why()}")
        return
    for setting in ("on", "off"):
        what = f"cuInit, a launch and its result are as without the recorder, dynsym={setting}"
        run = runner.run(command, name=f"deepbind-{setting}", settings=f"dynsym={setting}")
        table.judge(what, [] if (run.code, run.out) == (plain.code, plain.out) else [run.why()], plain.out.strip())
        if setting == "on" and runner.cli:
            judge_deepbind(runner, table, run)


def judge_deepbind(runner, table, run):
    found = [
        row["name"]
        for row in (runner.events(run.file) if run.file else [])
        if row["kind"] == Kind.ALLOC and row["size_bytes"] == DEEP_BYTES
    ]
    table.judge(
        "a library opened with RTLD_DEEPBIND is recorded, dynsym=on",
        [] if found == ["cuMemAlloc_v2"] else [f"its block is {len(found)} events"],
    )


def check_costs(runner, table):
    run = runner.run([runner.program("costs")], name="costs", **(COSTS if runner.is_simulated else {}))
    with open(runner.kept_path("costs.out"), "w", encoding="utf-8") as file:
        file.write(run.out)
    if run.code or not run.file:
        table.add("what contexts, code and limits take", "FAILED", run.why() if run.code else "nothing was recorded")
    elif runner.cli:
        judge_costs(runner, table, run.out, run.file)
    else:
        table.add("what contexts, code and limits take", "skipped", run.not_compared())


def judge_costs(runner, table, out, recording):
    """Compares the recorder's measurements with the program's own."""
    printed = [line.split()[1:] for line in out.splitlines() if line.startswith("cost ")]
    events = {
        name: [
            row["size_bytes"]
            for row in runner.events(recording)
            if row["space"] == space and row["kind"] in (Kind.ALLOC, Kind.SET)
        ]
        for name, space in COST_SPACES.items()
    }
    for name in COST_SPACES:
        theirs = [tuple(map(int, words[1:])) for words in printed if words[0] == name]
        wrong, shown = [], []
        if len(events[name]) < len(theirs):
            wrong.append(f"{len(events[name])} events for {len(theirs)}")
        for measured, (by_driver, by_nvml) in zip(events[name], theirs):
            shown.append(f"{measured} (driver {by_driver}, NVML {by_nvml})")
            known = [bytes_ for bytes_ in (by_driver, by_nvml) if bytes_ >= 0]
            slack = 0 if runner.is_simulated else max(SLACK_BYTES, SLACK_SHARE * measured)
            if known and min(abs(measured - bytes_) for bytes_ in known) > slack:
                wrong.append(f"measured {measured}, the driver says {by_driver}, NVML {by_nvml}")
        table.judge(
            f"each {name} has the size by which the device's memory in use grew",
            wrong,
            ", ".join(shown),
            bytes=events[name],
        )
    launch = [words for words in printed if words[0] == "launch"]
    if launch:
        table.add("memory of a kernel's first launch, which no hook records", "noted", f"{launch[0][1]} bytes")
