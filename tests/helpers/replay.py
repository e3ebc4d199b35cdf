# SPDX-License-Identifier: MIT
"""Computes the numbers of a report from the records alone, slowly and simply."""

import collections
import live
import read_recording

HOST = live.HOST


def ordered(rows):
    """Returns the events by time. Each thread's events keep their order (docs/internals/recording-format.md, 4)."""
    last = collections.defaultdict(int)
    events = [row for row in rows if row["record"] == "event"]
    for row in events:
        row["stamp"] = last[row["thread"]] = max(row["stamp"], last[row["thread"]])
    return sorted(events, key=lambda row: row["stamp"])


class Clock:
    def __init__(self, rows):
        self.points = []
        for row in rows:
            if row["record"] == "clock" and (
                not self.points or row["stamp"] > self.points[-1][0] and row["monotonic_ns"] >= self.points[-1][1]
            ):
                self.points.append((row["stamp"], row["monotonic_ns"], row["realtime_ns"]))
        self.start = next(row["start_stamp"] for row in rows if row["record"] == "process")

    def monotonic(self, stamp):
        points = self.points
        if len(points) < 2:
            return stamp
        inside = [i for i in range(len(points) - 1) if points[i][0] <= stamp < points[i + 1][0]]
        if inside:
            (s0, m0, _), (s1, m1, _) = points[inside[0] : inside[0] + 2]
        else:
            s0, m0, _ = points[0] if stamp < points[0][0] else points[-1]
            s1, m1 = s0 + points[-1][0] - points[0][0], m0 + points[-1][1] - points[0][1]
        return m0 + (stamp - s0) * (m1 - m0) // (s1 - s0)

    def time_ns(self, stamp):
        return max(self.monotonic(stamp) - self.monotonic(self.start), 0)


def new_totals():
    return {
        "live_bytes": 0,
        "live_blocks": 0,
        "peak_bytes": 0,
        "alloc_count": 0,
        "free_count": 0,
        "total_alloc_bytes": 0,
        "max_live_bytes": 0,
    }


def python_stack(rows, frames_id):
    frames = {row["id"]: row for row in rows if row["record"] == "frame"}
    codes = {row["id"]: row for row in rows if row["record"] == "code"}
    stacks = {row["id"]: row["items"] for row in rows if row["record"] == "frames"}
    return tuple(
        (codes[frames[item >> 1]["code"]]["function"].decode(), frames[item >> 1]["line"])
        for item in stacks.get(frames_id, [])
    )


def replay(path, until_ns=None):
    """Returns accounts by (layer, device), spaces by (layer, device, space), and sites by trace."""
    rows = list(read_recording.read(path))
    clock = Clock(rows)
    accounts, spaces = collections.defaultdict(new_totals), collections.defaultdict(new_totals)
    sites, now = collections.defaultdict(new_totals), [0]

    def count(block, sign):
        account = live.LAYERS[block.layer], block.device
        site = (*account, block.name, *block.stacks)
        for totals in accounts[account], spaces[(*account, block.name)], sites[site]:
            totals["live_bytes"] += sign * block.size
            totals["live_blocks"] += sign
            totals["alloc_count" if sign > 0 else "free_count"] += 1
            totals["total_alloc_bytes"] += block.size if sign > 0 else 0
            totals["max_live_bytes"] = max(totals["max_live_bytes"], totals["live_bytes"])
        if accounts[account]["live_bytes"] > accounts[account]["peak_bytes"]:
            accounts[account]["peak_bytes"] = accounts[account]["live_bytes"]
            accounts[account]["peak_time_ns"] = clock.time_ns(now[0])
            for other, totals in sites.items():
                if other[:2] == account:
                    totals["peak_bytes"] = totals["live_bytes"]

    state = live.Live()
    state.began, state.ended = (lambda block: count(block, 1)), (lambda block: count(block, -1))
    for event in ordered(rows):
        now[0] = event["stamp"]
        if until_ns is not None and clock.time_ns(now[0]) > until_ns:
            break
        state.apply(event)
    return accounts, spaces, sites
