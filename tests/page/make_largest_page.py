# SPDX-License-Identifier: MIT
"""usage: make_largest_page.py TEMPLATE OUTPUT.html

Makes a page of the largest size that docs/internals/page-data.md allows: 4,096 buckets, 500,000 entries, 4,096 sites,
30,000 blocks, 65,536 fine intervals, 20,000 steps. The numbers are random. Only the sums of sites are consistent.
"""

import random
import sys

import simulated_report
import page_data
from simulated_run import Frame, simulate

BUCKETS, SITES, ENTRIES, BLOCKS, FINE, STEPS = 4096, 4096, 500_000, 30_000, 65_536, 20_000
DURATION = 3_600_000_000_000


def device():
    random.seed(1)
    wide = DURATION // BUCKETS
    names = ("begin_ns", "begin_event", "max_bytes", "max_ns", "min_bytes", "end_bytes", "reserved_bytes", "entries")
    columns = {name: [] for name in names}
    entries = {name: [] for name in ("site", "at_max", "allocated", "allocs", "freed", "frees")}
    live = [0] * SITES
    total = 0
    for bucket in range(BUCKETS):
        chosen = sorted(random.sample(range(1, SITES), ENTRIES // BUCKETS))
        for site in chosen:
            now = random.randrange(1 << 24) if live[site] == 0 else 0
            entries["site"].append(site)
            entries["at_max"].append(now - live[site])
            entries["allocated"].append(max(0, now - live[site]))
            entries["allocs"].append(3)
            entries["freed"].append(max(0, live[site] - now))
            entries["frees"].append(3)
            total += now - live[site]
            live[site] = now
        row = (bucket * wide, bucket * 24000, total, bucket * wide + 7, total, total, total + (1 << 28), len(chosen))
        for name, value in zip(names, row, strict=True):
            columns[name].append(value)
    columns |= {f"entry.{name}": values for name, values in entries.items()}
    columns["fine.begin_ns"] = [at * (DURATION // FINE) for at in range(FINE)]
    columns["fine.max_bytes"] = [
        columns["max_bytes"][at * BUCKETS // FINE] - random.randrange(1 << 20) for at in range(FINE)
    ]
    peak = max(columns["max_bytes"])
    out = {f"0.{name}": values for name, values in columns.items()}
    begins = sorted(random.randrange(DURATION) for _ in range(BLOCKS))
    out |= {
        "block.begin_ns": begins,
        "block.end_ns": [begin + random.randrange(DURATION // 50) for begin in begins],
        "block.address": [random.randrange(1 << 28) for _ in begins],
        "block.bytes": [random.randrange(1, 1 << 26) for _ in begins],
        "block.site": [random.randrange(1, SITES) for _ in begins],
        "block.layer": [0] * BLOCKS,
    }
    layer = {"layer": "torch", "peak_bytes": peak, "peak_ns": columns["max_ns"][columns["max_bytes"].index(peak)],
             "buckets": BUCKETS, "fine": FINE, "phase_names": []}  # fmt: skip
    header = {"device": 0, "layers": [layer], "refusals": [],
              "blocks": {"kept": BLOCKS, "total": 10**7, "kept_bytes_ns": 9, "total_bytes_ns": 10}}  # fmt: skip
    return header, out, peak


def main(template_path, output_path):
    run = simulate(steps=4, oom=False)
    report = simulated_report.make_report([run])
    head, columns, peak = device()
    frames = [
        Frame(f"function_{at}", f"/home/user/project/part_{at % 97}.py", at % 400 + 1, own=at % 3 == 0)
        for at in range(6000)
    ]
    run.sites = [None]
    random.seed(2)
    for number in range(1, SITES):
        stack, at = [], number % 7
        for _ in range(24):
            stack.append(frames[at])
            at = (at * 7 + random.randrange(3)) % len(frames)
        base = simulate_site(number, stack)
        run.sites.append(base)
    run.blocks, run.events = [], []
    report["process"]["duration_ns"] = run.duration_ns = DURATION
    step = DURATION // STEPS
    steps = [(index, index * step, (index + 1) * step) for index in range(STEPS)]
    report["steps"] = [{"index": index, "source": "optimizer", "begin_ns": begin, "end_ns": end, "devices": [
        {"device": 0, "layer": "torch", "peak_bytes": peak, "end_live_bytes": peak // 2}]} for index, begin, end in steps]  # fmt: skip
    for layer in report["devices"][0]["layers"]:
        if layer["layer"] == "torch":
            layer |= {"peak_bytes": peak, "peak_time_ns": head["layers"][0]["peak_ns"]}
    packets = {"recording-0": page_data.recording_packet([run], report, steps),
               "device-0-0": page_data.packet(head, columns)}  # fmt: skip
    entry = simulated_report.index_entry([run], report)
    entry["devices"][0] |= {"layer": "torch", "peak_bytes": peak, "packet": True}
    index = {"schema": "gpumemtrace.page/1", "made_by": "gpumemtrace 0.1.0", "recordings": [entry]}
    with open(template_path, encoding="utf-8") as file:
        template = file.read()
    with open(output_path, "w", encoding="utf-8") as file:
        file.write(page_data.make_page(template, index, packets))


def simulate_site(number, stack):
    from simulated_run import Site

    categories = ("parameters", "gradients", "optimizer state", "activations", "temporaries", "inputs")
    return Site("torch", 0, "device", categories[number % 6], "PyTorch", f"model.layers.{number % 64}.part_{number % 9}",
                f"aten::op_{number % 120}", ("forward", "backward")[number % 2], tuple(stack), len(stack) - 2)  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
