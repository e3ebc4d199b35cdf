# SPDX-License-Identifier: MIT
"""Writes the data elements of the report page, as docs/internals/page-data.md describes them, from a simulated run."""

import base64
import gzip
import json

MARKER = "<!--gpumemtrace data-->"
SUMMARY_MARKER = "<!--gpumemtrace summary-->"


def encode_column(values):
    """Returns the differences of a column: their first bytes, then their second bytes, and so on."""
    changes = [value - before for before, value in zip([0, *values], values)]
    raw = [change * 2 if change >= 0 else -change * 2 - 1 for change in changes]
    planes = (max(raw, default=0).bit_length() + 7) // 8
    return b"".join(bytes(number >> 8 * plane & 255 for number in raw) for plane in range(planes))


def packet(header, columns):
    """Returns the base64 text of a packet. `columns` maps a name to its integers."""
    body, places = bytearray(), []
    for name, values in columns.items():
        data = encode_column(values)
        place = {"name": name, "offset": len(body), "bytes": len(data), "count": len(values)}
        places.append({**place, "differences": True})
        body += data
    head = json.dumps({**header, "columns": places}).encode()
    return base64.b64encode(gzip.compress(len(head).to_bytes(4, "little") + head + bytes(body), mtime=0)).decode()


def layer_columns(run, layer, bucket_count):
    """Returns the columns of one layer, and its peak: (columns, peak_bytes, peak_ns)."""
    events = [(number, event) for number, event in enumerate(run.events) if event.block.layer == layer]
    wide_ns = -(-run.duration_ns // bucket_count)
    wide_events = max(1, -(-len(run.events) // bucket_count))
    columns = {name: [] for name in (
        "begin_ns", "begin_event", "max_bytes", "max_ns", "min_bytes", "end_bytes", "reserved_bytes", "entries",
        "entry.site", "entry.at_max", "entry.allocated", "entry.allocs", "entry.freed", "entry.frees",
        "phase.at_max")}  # fmt: skip
    names = ["", *sorted({block.phase for block in run.blocks if block.layer == layer and block.phase})][:15]
    live, by_phase, before_max = {}, dict.fromkeys(names, 0), {}
    total, peak, peak_ns, at, begin_ns, begin_event = 0, 0, 0, 0, 0, 0
    reserved = 0
    cuda = iter([event for event in run.events if event.block.layer == "cuda"])
    pending = next(cuda, None)
    while True:
        end_ns = begin_ns + wide_ns
        made, most, most_ns, least = {}, total, begin_ns, total
        at_max, phase_at_max, most_reserved = dict(live), dict(by_phase), reserved
        count = 0
        while at < len(events) and events[at][1].time_ns < end_ns and events[at][0] < begin_event + wide_events:
            event = events[at][1]
            block = event.block
            sign = 1 if event.allocates else -1
            total += sign * block.bytes
            live[block.site] = live.get(block.site, 0) + sign * block.bytes
            by_phase[block.phase] = by_phase.get(block.phase, 0) + sign * block.bytes
            row = made.setdefault(block.site, [0, 0, 0, 0])
            row[0 if sign > 0 else 2] += block.bytes
            row[1 if sign > 0 else 3] += 1
            if total > most:
                most, most_ns, at_max, phase_at_max = total, event.time_ns, dict(live), dict(by_phase)
            least = min(least, total)
            if total > peak:
                peak, peak_ns = total, event.time_ns
            at, count = at + 1, count + 1
        next_event = events[at][0] if at < len(events) else len(run.events)
        if at < len(events) and next_event >= begin_event + wide_events and events[at][1].time_ns < end_ns:
            end_ns = max(begin_ns + 1, events[at][1].time_ns)
        while pending and pending.time_ns < end_ns:
            reserved += pending.block.bytes if pending.allocates else -pending.block.bytes
            most_reserved = max(most_reserved, reserved)
            pending = next(cuda, None)
        sites = {site for site in set(made) | set(at_max) | set(before_max)
                 if site in made or at_max.get(site, 0) != before_max.get(site, 0)}  # fmt: skip
        columns["begin_ns"].append(begin_ns)
        columns["begin_event"].append(begin_event)
        columns["max_bytes"].append(most)
        columns["max_ns"].append(most_ns)
        columns["min_bytes"].append(least)
        columns["end_bytes"].append(total)
        columns["reserved_bytes"].append(most_reserved)
        columns["entries"].append(len(sites))
        for site in sorted(sites):
            row = made.get(site, [0, 0, 0, 0])
            columns["entry.site"].append(site)
            columns["entry.at_max"].append(at_max.get(site, 0) - before_max.get(site, 0))
            for name, value in zip(("allocated", "allocs", "freed", "frees"), row, strict=True):
                columns[f"entry.{name}"].append(value)
        columns["phase.at_max"] += [phase_at_max.get(name, 0) for name in names]
        before_max = at_max
        begin_ns, begin_event = end_ns, next_event
        if begin_ns >= run.duration_ns:
            break
    if layer != "torch":
        del columns["reserved_bytes"]
    if len(names) < 2:
        del columns["phase.at_max"]
    return columns, peak, peak_ns, names if len(names) > 1 else []


def fine_columns(run, layer, count):
    wide = -(-run.duration_ns // count)
    begins, most, total = [], [], 0
    events = iter([event for event in run.events if event.block.layer == layer])
    event = next(events, None)
    for begin in range(0, run.duration_ns, wide):
        largest = total
        while event and event.time_ns < begin + wide:
            total += event.block.bytes if event.allocates else -event.block.bytes
            largest = max(largest, total)
            event = next(events, None)
        if not most or most[-1] != largest:
            begins.append(begin)
            most.append(largest)
    return begins, most


def device_packet(run, buckets=1024):
    layers, columns = [], {}
    names = [name for name in ("torch", "cuda") if any(block.layer == name for block in run.blocks)]
    for number, name in enumerate(names):
        found, peak, peak_ns, phase_names = layer_columns(run, name, buckets)
        begins, most = fine_columns(run, name, 8192)
        found |= {"fine.begin_ns": begins, "fine.max_bytes": most}
        columns |= {f"{number}.{column}": values for column, values in found.items()}
        layers.append({"layer": name, "peak_bytes": peak, "peak_ns": peak_ns, "buckets": len(found["begin_ns"]),
                       "fine": len(begins), "phase_names": phase_names})  # fmt: skip
    columns["sample.ns"] = [sample[0] for sample in run.samples]
    columns["sample.used_bytes"] = [sample[1] for sample in run.samples]
    columns["sample.total_bytes"] = [run.capacity + (380 << 20)] * len(run.samples)

    def weight(block):
        return block.bytes * ((block.end_ns if block.end_ns >= 0 else run.duration_ns) - block.begin_ns)

    kept = sorted(sorted(run.blocks, key=weight, reverse=True)[:30000], key=lambda block: block.begin_ns)
    columns["block.begin_ns"] = [block.begin_ns for block in kept]
    columns["block.end_ns"] = [block.end_ns for block in kept]
    columns["block.address"] = [block.address // 256 for block in kept]
    columns["block.bytes"] = [block.bytes for block in kept]
    columns["block.site"] = [block.site for block in kept]
    columns["block.layer"] = [names.index(block.layer) for block in kept]
    header = {
        "device": run.device,
        "layers": layers,
        "blocks": {"kept": len(kept), "total": len(run.blocks), "kept_bytes_ns": sum(map(weight, kept)),
                   "total_bytes_ns": sum(map(weight, run.blocks))},
        "refusals": [{"time_ns": time, "bytes": size, "site": site, "layer": "torch"}
                     for time, size, site in run.refusals],
    }  # fmt: skip
    return packet(header, columns)


class Strings:
    def __init__(self):
        self.numbers = {"": 0}

    def __call__(self, text):
        return self.numbers.setdefault(text, len(self.numbers))


def recording_packet(runs, report, steps):
    """Returns the packet of a recording with one run for each device. Site numbers are those of the first run."""
    strings = Strings()
    places, nodes = {}, {(0, None): 0}
    place_rows, node_rows = [], [(0, 0)]
    site_rows = [[0] * 19]
    lists = {name: {} for name in ("categories", "owners", "modules", "operators", "parts", "layers", "spaces")}

    def number(kind, text):
        return lists[kind].setdefault(text, len(lists[kind]))

    def place_of(frame):
        if frame not in places:
            places[frame] = len(places)
            place_rows.append((int(frame.python), strings(frame.function), strings(frame.file), frame.line,
                               strings(frame.module), int(frame.own)))  # fmt: skip
        return places[frame]

    if not any(frame for run in runs for site in run.sites if site for frame in site.stack):
        place_rows.append((0, 0, 0, 0, 0, 0))
    for run in runs:
        usage = site_usage(run)
        for at, site in enumerate(run.sites):
            if site is None:
                continue
            parent, own = 0, 0
            for depth, frame in enumerate(site.stack):
                key = (parent, place_of(frame))
                if key not in nodes:
                    nodes[key] = len(node_rows)
                    node_rows.append(key)
                parent = nodes[key]
                if depth == site.own:
                    own = parent
            site_rows.append([
                parent, own, number("layers", site.layer), site.device, number("spaces", site.space),
                number("categories", site.category), number("owners", site.owner), number("modules", site.module),
                number("operators", site.operator), number("parts", site.part), *usage[at]])  # fmt: skip
    columns = {}
    for name, values in zip(("kind", "function", "file", "line", "module", "own"),
                            zip(*place_rows, strict=True), strict=True):  # fmt: skip
        columns[f"place.{name}"] = values
    columns["node.parent"] = [row[0] for row in node_rows]
    columns["node.place"] = [row[1] for row in node_rows]
    names = ("node", "own", "layer", "device", "space", "category", "owner", "module", "operator", "part",
             "peak_bytes", "peak_blocks", "live_bytes", "live_blocks", "left_bytes", "max_live_bytes", "total_bytes",
             "alloc_count", "free_count")  # fmt: skip
    for name, values in zip(names, zip(*site_rows, strict=True), strict=True):
        columns[f"site.{name}"] = values
    columns |= {"step.series": [0] * len(steps), "step.index": [step[0] for step in steps],
                "step.begin_ns": [step[1] for step in steps], "step.end_ns": [step[2] for step in steps]}  # fmt: skip
    phases = [{"name": strings(name), "begin_ns": begin, "end_ns": end, "thread": 1, "depth": depth, "open": False}
              for name, begin, end, depth in runs[0].phases] if runs else []  # fmt: skip
    overhead = {"timed_calls": 22, "call_ns": 552, "calls_ns": 12_900_000, "long_calls": 0, "writer_ns": 34_900_000}
    recorder = {"file_bytes": 144_861, "options": {"stacks": "all", "mode": "full"}, "overhead_estimate": overhead}
    header = {"report": report, "recorder": recorder, "phases": phases, "phases_left_out": 0,
              "series": [{"source": strings("optimizer"), "name": strings("AdamW")}]}  # fmt: skip
    header |= {name: [strings(text) for text in texts] for name, texts in lists.items()}
    header["strings"] = list(strings.numbers)
    return packet(header, columns)


def site_usage(run):
    """Returns for each site: peak_bytes, peak_blocks (at the peak of its layer), live, left, own peak, totals, counts."""
    rows = [[0] * 9 for _ in run.sites]
    live = [[0, 0] for _ in run.sites]
    total, peak = {}, {}
    for event in run.events:
        block = event.block
        sign = 1 if event.allocates else -1
        row, now = rows[block.site], live[block.site]
        now[0] += sign * block.bytes
        now[1] += sign
        total[block.layer] = total.get(block.layer, 0) + sign * block.bytes
        row[5] = max(row[5], now[0])
        if sign > 0:
            row[6] += block.bytes
            row[7] += 1
        else:
            row[8] += 1
        if total[block.layer] > peak.get(block.layer, (0,))[0]:
            peak[block.layer] = (total[block.layer], event.time_ns)
    state = [[0, 0] for _ in run.sites]
    for event in run.events:
        block = event.block
        if event.time_ns > peak[block.layer][1]:
            continue
        sign = 1 if event.allocates else -1
        state[block.site][0] += sign * block.bytes
        state[block.site][1] += sign
    for site, row in enumerate(rows):
        row[0], row[1] = state[site]
        row[2], row[3] = live[site]
        row[4] = live[site][0]
    return rows


def script_safe(value):
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def make_page(template, index, packets, summary="<p>Open this page with scripts to see the charts.</p>"):
    """Returns the template with the index and the packets, {element id: base64 text}."""
    elements = [f'<script type="application/json" id="index">{script_safe(index)}</script>']
    elements += [f'<script type="application/octet-stream" id="{name}">{text}</script>'
                 for name, text in packets.items()]  # fmt: skip
    return template.replace(SUMMARY_MARKER, summary).replace(MARKER, "\n".join(elements))
