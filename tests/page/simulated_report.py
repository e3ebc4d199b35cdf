# SPDX-License-Identifier: MIT
"""The report object (schema gpumemtrace.report/2) of a simulated run, with the keys that the page reads."""

import collections

import page_data

LEDGER = ("torch_live", "torch_cached", "torch_rounding", "arenas", "device", "array", "vmm", "pool_used",
          "pool_cached", "graph_used", "graph_cached", "contexts", "modules", "limits", "runtime", "other_processes",
          "unexplained")  # fmt: skip


def frame_json(frame):
    return {"kind": "python" if frame.python else "native", "function": frame.function, "file": frame.file or None,
            "line": frame.line or None, "module": frame.module or None}  # fmt: skip


def stack_json(site):
    return [frame_json(frame) for frame in reversed(site.stack)]


def own_frame(site):
    return len(site.stack) - 1 - site.own


def live_at(run, layer, time_ns):
    return [block for block in run.blocks if block.layer == layer and block.begin_ns <= time_ns
            and (block.end_ns < 0 or block.end_ns > time_ns)]  # fmt: skip


def shares(blocks, key):
    bytes_of, count = collections.Counter(), collections.Counter()
    for block in blocks:
        bytes_of[key(block)] += block.bytes
        count[key(block)] += 1
    return [{"name": name, "bytes": size, "blocks": count[name]} for name, size in bytes_of.most_common()]


def totals(run, layer):
    total, peak, blocks, most, peak_blocks = 0, 0, 0, 0, 0
    for event in run.events:
        if event.block.layer != layer:
            continue
        sign = 1 if event.allocates else -1
        total += sign * event.block.bytes
        blocks += sign
        if total > peak:
            peak, most, peak_blocks = total, event.time_ns, blocks
    mine = [block for block in run.blocks if block.layer == layer]
    return {
        "layer": layer, "live_bytes": total, "live_blocks": blocks, "left_bytes": total, "left_blocks": blocks,
        "peak_bytes": peak, "peak_blocks": peak_blocks, "peak_time_ns": most, "alloc_count": len(mine),
        "free_count": sum(block.end_ns >= 0 for block in mine), "refused_count": len(run.refusals),
        "total_alloc_bytes": sum(block.bytes for block in mine), "spaces": [],
    }  # fmt: skip


def ledger(run, time_ns):
    live = sum(block.bytes for block in live_at(run, "torch", time_ns))
    reserved = sum(block.bytes for block in live_at(run, "cuda", time_ns))
    sizes = {"torch_live": live, "torch_cached": reserved - live, "contexts": 300 << 20, "runtime": 80 << 20}
    return {
        "time_ns": time_ns, "asked_at_ns": time_ns, "moved": False, "total_bytes": run.capacity + (380 << 20),
        "used_bytes": reserved + (380 << 20), "managed_bytes": 0, "imported_bytes": 0,
        "lines": [{"name": name, "bytes": sizes.get(name, 0), "known": name != "arenas"} for name in LEDGER],
    }  # fmt: skip


def peaks(run, layer, row):
    blocks = live_at(run, layer, row["peak_time_ns"])
    by_step = shares(blocks, lambda block: block.step)
    return {
        "layer": layer, "device": run.device, "peak_bytes": row["peak_bytes"], "peak_blocks": row["peak_blocks"],
        "time_ns": row["peak_time_ns"],
        "by_owner": shares(blocks, lambda block: run.sites[block.site].owner),
        "by_category": shares(blocks, lambda block: run.sites[block.site].category),
        "by_part": shares(blocks, lambda block: run.sites[block.site].part),
        "by_phase": shares(blocks, lambda block: block.phase or None),
        "by_step": [{"series": "optimizer" if each["name"] >= 0 else None,
                     "step": each["name"] if each["name"] >= 0 else None,
                     "bytes": each["bytes"], "blocks": each["blocks"]} for each in by_step],
    }  # fmt: skip


def step_rows(run):
    rows = []
    for index, begin, end in run.steps:
        devices = []
        for layer in ("cuda", "torch"):
            total, peak = sum(block.bytes for block in live_at(run, layer, begin)), 0
            peak = total
            for event in run.events:
                if event.block.layer == layer and begin < event.time_ns <= end:
                    total += event.block.bytes if event.allocates else -event.block.bytes
                    peak = max(peak, total)
            devices.append({"device": run.device, "layer": layer, "peak_bytes": peak, "end_live_bytes": total})
        rows.append({"index": index, "source": "optimizer", "begin_ns": begin, "end_ns": end, "devices": devices})
    return rows


def part_rows(run):
    rows, times = [], max(1, len(run.steps) - 1)
    for layer in ("torch", "cuda"):
        made, carried = collections.Counter(), collections.Counter()
        for block in run.blocks:
            if block.layer == layer and block.step > 0:
                part = run.sites[block.site].part
                made[part] += block.bytes
                if block.end_ns < 0 or block.end_ns > run.steps[block.step][2]:
                    carried[part] += block.bytes
        rows += [{"device": run.device, "layer": layer, "part": part, "times": times, "made_bytes": size // times,
                  "carried_bytes": 0, "kept_bytes": carried[part] // times, "peak_bytes": 0}
                 for part, size in made.most_common()]  # fmt: skip
    return rows


def leaks(run):
    """Returns the sites of which a block of each later step is live after the last step."""
    found = []
    for number, site in enumerate(run.sites):
        if site is None:
            continue
        left = [block for block in run.blocks if block.site == number and block.step >= 0
                and (block.end_ns < 0 or block.end_ns > run.steps[-1][2])]  # fmt: skip
        steps = sorted({block.step for block in left})
        if site.layer != "torch" or len(steps) < len(run.steps) // 2 - 1 or len(steps) < 4:
            continue
        size = sum(block.bytes for block in left)
        hint = "the loss is kept as a tensor on the device: keep it as a number (loss.item()) or on the CPU"
        found.append({
            "definition": "growth", "layer": "torch", "device": run.device, "space": "device", "bytes": size,
            "blocks": len(left), "bytes_per_step": size // len(run.steps), "confidence": 0.99, "ground": "steady",
            "source": "optimizer", "steps": len(run.steps) - 4, "first_step": steps[0],
            "steps_to_oom": run.capacity // max(1, size // len(run.steps)),
            "attribution": [{"first_step": step, "last_step": step,
                             "bytes": sum(block.bytes for block in left if block.step == step),
                             "blocks": sum(block.step == step for block in left)} for step in steps],
            "rose_most": [], "followers": [], "phase": None, "heap": None, "category": site.category,
            "owner": site.owner, "own_frame": own_frame(site), "stack": stack_json(site), "stacks": [],
            "hint": hint if "nll_loss" in site.operator else None, "freed": None,
        })  # fmt: skip
    return sorted(found, key=lambda leak: -leak["bytes"])


def segments(run, moment, time_ns):
    blocks, whole = live_at(run, "torch", time_ns), live_at(run, "cuda", time_ns)
    reserved, used = sum(block.bytes for block in whole), sum(block.bytes for block in blocks)
    ends = [(segment, sorted((block.address, block.bytes) for block in blocks
                             if segment.address <= block.address < segment.address + segment.bytes))
            for segment in whole]  # fmt: skip
    holes, empty = [], [segment for segment, inside in ends if not inside]
    for segment, inside in ends:
        at = segment.address
        for address, size in [*inside, (segment.address + segment.bytes, 0)]:
            if address > at:
                holes.append((address - at, bool(inside)))
            at = address + size
    return {
        "device": run.device, "moment": moment, "time_ns": time_ns, "segments": len(whole),
        "reserved_bytes": reserved, "allocated_bytes": used, "blocks": len(blocks), "empty_segments": len(empty),
        "empty_bytes": sum(segment.bytes for segment in empty), "hole_bytes": sum(s for s, inside in holes if inside),
        "holes": [], "largest_hole_bytes": max((size for size, _ in holes), default=0), "graph_segments": 0,
        "graph_bytes": 0, "graph_free_bytes": 0, "sparse_segments": 0, "sparse_bytes": 0,
    }  # fmt: skip


def allocator(run):
    """Returns the maximum of each pool, as PyTorch's statistics count it."""
    small = {id(segment.block) for segment in run.segments if segment.block.bytes == 2 << 20}
    rows = ("reserved_bytes", "segment", "allocated_bytes", "inactive_split_bytes")
    now, most = collections.Counter(), collections.Counter()
    for event in run.events:
        block = event.block
        sign = 1 if event.allocates else -1
        segment = block if block.layer == "cuda" else block.segment.block
        pool = "small_pool" if id(segment) in small else "large_pool"
        changes = {"reserved_bytes": block.bytes, "segment": 1} if block.layer == "cuda" else {
            "allocated_bytes": block.bytes}  # fmt: skip
        for row, change in changes.items():
            for name in (pool, "all"):
                now[row, name] += sign * change
                most[row, name] = max(most[row, name], now[row, name])
    stats = {row: {pool: {"current": now[row, pool], "peak": most[row, pool]}
                   for pool in ("all", "large_pool", "small_pool")} for row in rows}  # fmt: skip
    return {"device": run.device, "knows_segments": True, "stats": stats}


def ooms(run):
    rows = []
    for time, size, number in run.refusals:
        live = sum(block.bytes for block in live_at(run, "torch", time))
        reserved = sum(block.bytes for block in live_at(run, "cuda", time))
        site = run.sites[number]
        rows.append({
            "time_ns": time, "layer": "torch", "device": run.device, "requested_bytes": size,
            "free_bytes": run.capacity - reserved, "total_bytes": run.capacity + (380 << 20), "live_bytes": live,
            "cuda_live_bytes": reserved, "cached_bytes": reserved - live, "usable_cached_bytes": 20 << 20,
            "graph_cached_bytes": 0, "reserved_bytes": reserved, "largest_hole_bytes": 18 << 20, "would_fit": False,
            "recovered": False, "driver_refusals": 1, "step": None, "ledger": ledger(run, time),
            "holders_layer": "torch", "held_bytes": live, "holders": [], "holder_bytes": [], "owner": site.owner,
            "own_frame": own_frame(site), "stack": stack_json(site),
        })  # fmt: skip
    return rows


def make_report(runs, title="train.py", complete=True, file="run.gmt.gz"):
    first = runs[0] if runs else None
    devices, peak_rows, parts, leak_rows, segment_rows, oom_rows, ledgers = [], [], [], [], [], [], []
    for run in runs:
        names = [name for name in ("cuda", "torch") if any(block.layer == name for block in run.blocks)]
        rows = [totals(run, name) for name in names]
        devices.append({"device": run.device, "name": "NVIDIA Simulated 2 GiB", "uuid": f"GPU-{run.device}",
                        "total_bytes": run.capacity + (380 << 20), "layers": rows})  # fmt: skip
        peak_rows += [peaks(run, row["layer"], row) for row in rows]
        parts += part_rows(run)
        leak_rows += leaks(run)
        oom_rows += ooms(run)
        most = next((row["peak_time_ns"] for row in rows if row["layer"] == "torch"), 0)
        segment_rows += [segments(run, "peak", most), segments(run, "end", run.duration_ns)]
        ledgers.append({"device": run.device, **ledger(run, run.duration_ns), "at_peak": ledger(run, most)})
    empty = {"live_bytes": 0, "live_blocks": 0, "left_bytes": 0, "left_blocks": 0, "peak_bytes": 0, "peak_blocks": 0,
             "peak_time_ns": 0, "alloc_count": 0, "free_count": 0, "refused_count": 0, "total_alloc_bytes": 0,
             "spaces": []}  # fmt: skip
    events = sum(len(run.events) for run in runs)
    return {
        "schema": "gpumemtrace.report/2", "file": file, "complete": complete,
        "events": {"recorded": events, "dropped": 0 if complete else 12, "replayed": events, "drops": []},
        "process": {
            "pid": 4711, "host": "workstation", "rank": None, "local_rank": None,
            "command": ["/usr/bin/python3", title, "--steps", "40"], "executable": "/usr/bin/python3",
            "directory": "/home/user/project", "machine": "x86_64", "parent_pid": 1,
            "start_time_ns": 1795543888585050911, "duration_ns": first.duration_ns if first else 0,
            "recorder_version": "0.1.0",
        },
        "until_ns": None, "devices": devices, "ledger": ledgers, "heaps": [], "host": empty, "sites": [],
        "refused": [], "refused_frees": [], "steps": step_rows(first) if first else [],
        "no_steps": None if first and first.steps else "no optimizer made a step",
        "step_parts": parts, "phases": [], "ooms": oom_rows,
        "oom_counts": {"failed": len(oom_rows), "recovered": 0, "left_out": 0}, "leaks": leak_rows,
        "cached": [], "arenas": [], "given_back": [], "levels_off": [],
        "growth_not_judged": None if first and first.steps else "there are no steps",
        "phases_not_judged": None, "end_not_judged": None, "peaks": peak_rows, "segments": segment_rows,
        "allocator": [allocator(run) for run in runs if run.blocks], "temporaries": {"not_known": None, "in_step": [], "short_lived": []}, "tables": [],
        "anomalies": {"unknown_frees": 0, "missed_frees": 0},
        "symbols": {"addresses": 395, "named": 383, "with_line": 20, "missing": []},
        "remarks": ["12 of 395 native addresses have no name"] + ([] if complete else ["12 events are missing"]),
        "notes": [],
    }  # fmt: skip


def index_entry(runs, report, title="train.py", rank=None, error=None):
    def entry(run):
        names = [name for name in ("torch", "cuda") if any(block.layer == name for block in run.blocks)]
        layer = names[0] if names else "cuda"
        return {"device": run.device, "name": "NVIDIA Simulated 2 GiB", "total_bytes": run.capacity + (380 << 20),
                "layer": layer, "peak_bytes": totals(run, layer)["peak_bytes"], "packet": bool(names)}  # fmt: skip

    return {
        "file": report["file"], "title": title, "host": "workstation", "pid": 4711, "rank": rank,
        "complete": report["complete"], "duration_ns": report["process"]["duration_ns"],
        "events": report["events"]["recorded"], "leaks": len(report["leaks"]),
        "ooms": report["oom_counts"]["failed"], "error": error, "devices": [entry(run) for run in runs],
    }  # fmt: skip


def recording(number, runs, **options):
    """Returns one recording of the page: its entry in the index, and its packets."""
    report = make_report(runs, **{key: options[key] for key in ("title", "complete", "file") if key in options})
    packets = {f"recording-{number}": page_data.recording_packet(runs, report, runs[0].steps if runs else [])}
    for run in runs:
        if run.blocks:
            packets[f"device-{number}-{run.device}"] = page_data.device_packet(run)
    entry = index_entry(runs, report, options.get("title", "train.py"), options.get("rank"))
    return entry, packets
