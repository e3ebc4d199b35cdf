# SPDX-License-Identifier: MIT
"""The recorder changes no result of bad calls, stream captures and the driver's symbols, and measures correctly."""

import re

from definitions import Kind, Space

MIB = 1 << 20
MODES = ["global", "thread-local", "relaxed"]
COST_SPACES = {"context": Space.CONTEXT, "module": Space.MODULE, "limit": Space.LIMIT}
COSTS = {"SIMCUDA_CONTEXT_MEMORY": "300M", "SIMCUDA_MODULE_MEMORY": "3M", "SIMCUDA_LIMIT_MEMORY": "1"}
DEEP_BYTES = 654321
# On a real device other programs allocate and free meanwhile.
SLACK_BYTES, SLACK_SHARE = 8 * MIB, 0.05


def check_bad_calls(bench, table):
    command = [bench.program("bad-calls")]
    plain, recorded = bench.run(command), bench.run(command, name="bad-calls")
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
        "bad calls get exactly what they get without the recorder",
        wrong,
        f"{len(theirs) - 1} calls, {refused} refused",
        calls=len(theirs),
        refused=refused,
    )
    if plain.code or recorded.code or not bench.cli:
        return
    if not recorded.file:
        table.add("the recording of bad calls is right", "FAILED", "nothing was recorded")
        return
    result = bench.json_report(recorded.file)
    layers = [layer for device in result["devices"] for layer in device["layers"] if layer["layer"] == "cuda"]
    live = sum(layer["live_bytes"] for layer in [*layers, result["host"]])
    wrong = [] if result["complete"] else ["it is not complete"]
    wrong += [f"{live} bytes are alive after the reset"] if live else []
    wrong += [] if result["refused"] else ["no refusal is listed"]
    table.judge(
        "the recording of bad calls is right",
        wrong,
        f"{len(result['refused'])} refusals listed, nothing is alive at the end",
    )


def numbers(text):
    """Returns {name: number} from the output of captures.c."""
    return {name: int(number) for name, number in re.findall(r"^(?:worst )?(\w+) (-?\d+)$", text, re.M)}


def check_captures(bench, table):
    seconds = "0.5" if bench.is_simulated else "3"
    for mode in MODES:
        plain = bench.run([bench.program("captures"), "asks", mode, seconds])
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
            f"no question from a relaxed thread spoils a capture, mode {mode}",
            refused + ([f"{printed['spoilt']} of {printed['captures']} were spoilt"] if printed["spoilt"] else []),
            f"{printed['captures']} captures, {printed['rounds']} rounds of questions{'' if not printed['nvml'] else ', no NVML'}",
            **printed,
        )
        check_recorded_captures(bench, table, mode, seconds)
    for mode in MODES[:2]:
        printed = numbers(bench.run([bench.program("captures"), "blunders", mode, seconds]).out)
        minded = ", ".join(
            f"{name} answers {printed[name]}" for name in printed if name.startswith(("cu", "nvml")) and printed[name]
        )
        table.add(
            f"what the driver minds from a thread that is not relaxed, mode {mode}",
            "noted",
            f"{printed.get('spoilt')} of {printed.get('captures')} captures were spoilt; {minded or 'no question was refused'}",
        )


def check_recorded_captures(bench, table, mode, seconds):
    what = f"no capture is spoilt while the recorder asks as often as it may, mode {mode}"
    command = [bench.program("captures"), "works", mode, seconds]
    plain, recorded = bench.run(command), bench.run(command, name=f"captures-{mode}")
    before, after = numbers(plain.out), numbers(recorded.out)
    if plain.code or recorded.code:
        table.add(what, "FAILED", (plain if plain.code else recorded).why())
    elif before["spoilt"]:
        table.add(what, "skipped", f"{before['spoilt']} of {before['captures']} are spoilt without it too")
    else:
        samples = count_samples(bench, recorded.file)
        wrong = [f"{after['spoilt']} of {after['captures']} were spoilt"] if after["spoilt"] else []
        wrong += ["the recorder never asked"] if samples == 0 else []
        table.judge(
            what,
            wrong,
            f"{after['captures']} captures, {'?' if samples is None else samples} answers of the driver",
            samples=samples,
            **after,
        )


def count_samples(bench, recording):
    if not bench.cli:
        return None
    return len(bench.call_cli("dump", "--json", "--record=sample", recording).splitlines()) if recording else 0


def check_deepbind(bench, table):
    command = [bench.program("deepbind"), bench.program("libdeepbind.so")]
    plain = bench.run(command)
    if plain.code:
        table.add("the driver's symbol table can be changed", "FAILED", f"without the recorder: {plain.why()}")
        return
    for setting in ("on", "off"):
        what = f"cuInit, a launch and its result are as without the recorder, dynsym={setting}"
        run = bench.run(command, name=f"deepbind-{setting}", settings=f"dynsym={setting}")
        table.judge(what, [] if (run.code, run.out) == (plain.code, plain.out) else [run.why()], plain.out.strip())
        if setting == "on" and bench.cli:
            judge_deepbind(bench, table, run)


def judge_deepbind(bench, table, run):
    found = [
        row["name"]
        for row in (bench.events(run.file) if run.file else [])
        if row["kind"] == Kind.ALLOC and row["size_bytes"] == DEEP_BYTES
    ]
    table.judge(
        "a library opened with RTLD_DEEPBIND is recorded, dynsym=on",
        [] if found == ["cuMemAlloc_v2"] else [f"its block is {len(found)} events"],
    )


def check_costs(bench, table):
    run = bench.run([bench.program("costs")], name="costs", **(COSTS if bench.is_simulated else {}))
    with open(bench.kept_path("costs.out"), "w", encoding="utf-8") as file:
        file.write(run.out)
    if run.code or not run.file:
        table.add("what contexts, code and limits take", "FAILED", run.why() if run.code else "nothing was recorded")
    elif bench.cli:
        judge_costs(bench, table, run.out, run.file)
    else:
        table.add("what contexts, code and limits take", "skipped", run.not_compared())


def judge_costs(bench, table, out, recording):
    """Compares the recorder's measurements with the program's own."""
    printed = [line.split()[1:] for line in out.splitlines() if line.startswith("cost ")]
    events = {
        name: [
            row["size_bytes"]
            for row in bench.events(recording)
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
            slack = 0 if bench.is_simulated else max(SLACK_BYTES, SLACK_SHARE * measured)
            if known and min(abs(measured - bytes_) for bytes_ in known) > slack:
                wrong.append(f"measured {measured}, the driver says {by_driver}, NVML {by_nvml}")
        table.judge(
            f"each {name} is measured as what the device has more in use", wrong, ", ".join(shown), bytes=events[name]
        )
    launch = [words for words in printed if words[0] == "launch"]
    if launch:
        table.add("the first launch of a kernel takes, which no hook sees", "noted", f"{launch[0][1]} bytes")
