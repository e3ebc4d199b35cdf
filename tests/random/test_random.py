# SPDX-License-Identifier: MIT
"""Random calls of all functions on the simulated device: the recording has the same live blocks as the driver."""

import glob
import os
import struct
import subprocess
import unittest

import cli
import live
import read_recording
import replay
import tap
from compaction_checks import CompactionChecks, fold
from recorded_run import BUILD, RecordedRun
from report_checks import ReportChecks

PROGRAMS = os.path.join(BUILD, "tests", "random")
LONG = bool(os.environ.get("GMT_TEST_LONG"))
INCOMPLETE = 2  # exit code of compare-accounting
DEVICE_SETTINGS = {
    "SIMCUDA_DEVICES": "2",
    "SIMCUDA_MEMORY": "512M",
    "SIMCUDA_DRIVER_VERSION": "13040",
    "SIMCUDA_CONTEXT_MEMORY": "1M",
    "SIMCUDA_MODULE_MEMORY": "64K",
    "SIMCUDA_LIMIT_MEMORY": "1",
}
CHECKPOINT = struct.Struct("<QQQ")
ITEM = struct.Struct("<iiQQQQQII")  # struct simcuda_item (simcuda/driver/accounting.h)
(
    DEVICE,
    MANAGED,
    PINNED,
    REGISTERED,
    POOL_BLOCK,
    GRAPH_BLOCK,
    IPC,
    EXTERNAL_BUFFER,
    IMPORTED_BLOCK,
    GRAPHICS_BUFFER,
    ARRAY,
    MIPMAP,
    PHYSICAL,
    IMPORTED_PHYSICAL,
    MULTICAST,
    RESERVATION,
    MAPPING,
    BINDING,
    TILES,
    POOL,
) = range(20)
# Kinds whose bytes and device are the same in driver and recording. compare-accounting compares the other kinds.
SPACES = {
    DEVICE: "device",
    MANAGED: "managed",
    PINNED: "pinned",
    REGISTERED: "registered",
    POOL_BLOCK: "pool",
    GRAPH_BLOCK: "graph",
    ARRAY: "array",
    EXTERNAL_BUFFER: "external_view",
    IPC: "ipc",
    IMPORTED_BLOCK: "ipc",
}


def run(seed, calls, threads, **environment):
    """Runs random-calls. Returns the paths of the recording and of the accounting, and the run."""
    recording = RecordedRun(
        [os.path.join(PROGRAMS, "random-calls"), str(seed), str(calls), str(threads), "accounting"],
        environment={**DEVICE_SETTINGS, **environment},
    )
    assert recording.code == 0, (recording.code, recording.err)
    # The smaller recording is that of the other process, whose memory the program imports.
    path = max(glob.glob(os.path.join(recording.folder, "*.gmt.gz")), key=os.path.getsize)
    return path, os.path.join(recording.folder, "accounting"), recording


def compare(path, accounting):
    return subprocess.run(
        [os.path.join(PROGRAMS, "compare-accounting"), path, accounting], capture_output=True, text=True, timeout=280
    )


def checkpoints(path):
    """Reads the items of each checkpoint."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        _number, _calls, count = CHECKPOINT.unpack_from(data, at)
        at += CHECKPOINT.size
        yield [ITEM.unpack_from(data, at + i * ITEM.size) for i in range(count)]
        at += count * ITEM.size


def driver_state(items):
    blocks = {
        (SPACES[kind], device, address, size) for kind, device, address, _, _, size, _, _, _ in items if kind in SPACES
    }
    blocks |= {
        ("vmm" if device >= 0 else "vmm_host", device, address, size)
        for kind, device, address, _, _, size, _, references, mappings in items
        if kind == PHYSICAL and (references or mappings > array_holders(items, address))
    }
    return {
        "blocks": blocks,
        "reservations": {(item[2], item[5]) for item in items if item[0] == RESERVATION},
        "mappings": {(item[2], item[5], item[3]) for item in items if item[0] == MAPPING},
        "bindings": {(item[3], item[1], item[2], item[5]) for item in items if item[0] == BINDING},
    }


def array_holders(items, handle):
    """Returns the number of arrays that use this memory. The recorder cannot see them."""
    return sum(1 for item in items if item[0] == TILES and item[3] == handle)


def recorded_state(state):
    names = {*SPACES.values(), "vmm", "vmm_host"}
    return {
        "blocks": {
            (block.name, block.device, block.address, block.size) for block in state.all() if block.name in names
        },
        "reservations": set(state.reserved.items()),
        "mappings": {(start, size, block.address) for start, (size, block) in state.mapped.items()},
        "bindings": {(key[0].address, key[1], key[2], size) for key, (size, _) in state.bound.items()},
    }


def states_at_checkpoints(path):
    """Returns the live blocks at each checkpoint, from the rows of the recording."""
    rows = list(read_recording.read(path))
    names = {row["id"]: row["text"] for row in rows if row["record"] == "name"}
    marks = sorted(
        row["stamp"]
        for row in rows
        if row["record"] == "mark" and names.get(row["name"], b"").startswith(b"checkpoint ")
    )
    events, state, at = replay.ordered(rows), live.Live(), 0
    for mark in marks:
        while at < len(events) and events[at]["stamp"] <= mark:
            state.apply(events[at])
            at += 1
        yield state


class Random(unittest.TestCase):
    def check(self, seed, calls, threads):
        # On a very busy machine the recorder drops events. Such a run proves nothing.
        for _ in range(3):
            path, accounting, _ = run(seed, calls, threads)
            done = compare(path, accounting)
            if done.returncode != INCOMPLETE:
                break
        self.assertEqual(done.returncode, 0, f"seed {seed}, {threads} threads\n{done.stdout}{done.stderr}")
        self.assertIn(f"{calls // 1000} checkpoints", done.stdout)

    def test_the_replay_equals_the_driver_at_every_thousandth_call(self):
        for seed in range(1, 5):
            with self.subTest(seed=seed):
                self.check(seed, 15000, 1)

    def test_the_replay_equals_the_driver_if_threads_exchange_memory(self):
        for threads in 2, 4, 8:
            with self.subTest(threads=threads):
                self.check(100 + threads, 20000, threads)

    @unittest.skipUnless(LONG, "long")
    def test_the_replay_equals_the_driver_over_a_million_calls(self):
        for threads in 1, 4:
            with self.subTest(threads=threads):
                self.check(1000 + threads, 1000000, threads)

    def test_an_independent_replay_sees_the_same_blocks_mappings_and_bindings(self):
        path, accounting, _ = run(7, 6000, 2)
        seen = 0
        for number, (items, state) in enumerate(
            zip(checkpoints(accounting), states_at_checkpoints(path), strict=True), 1
        ):
            driver, recording = driver_state(items), recorded_state(state)
            # The recorder reports mipmapped arrays as arrays, also those that show memory of others.
            driver["blocks"] |= {
                ("array", item[1], item[2], item[5]) for item in items if item[0] == MIPMAP and not item[3]
            }
            for what, expected in driver.items():
                self.assertEqual(expected, recording[what], f"{what} at checkpoint {number}")
                seen += len(expected)
            self.assertEqual((state.unknown_frees, state.missed_frees), (0, 0))
        self.assertGreater(seen, 400)

    def test_the_report_has_the_numbers_of_an_independent_replay(self):
        path, _, _ = run(8, 4000, 3)
        ReportChecks().check_conservation(ReportChecks().check_numbers(path))

    def test_a_compaction_at_any_moment_gives_the_same_numbers(self):
        path, accounting, recording = run(12, 9000, 4)
        events = cli.report(path)["events"]["recorded"]
        for kept in 0, 200, events // 3, events - 50:
            compacted = os.path.join(recording.folder, f"compacted-{kept}.gmt.gz")
            fold(path, compacted, *([f"--keep-events={kept}"] if kept else []))
            with self.subTest(kept=kept):
                CompactionChecks().check_same(path, compacted)
                done = compare(compacted, accounting)
                if done.returncode != INCOMPLETE:
                    self.assertEqual(done.returncode, 0, f"{kept} kept\n{done.stdout}{done.stderr}")
                    self.assertNotIn(" 0 blocks compared", done.stdout)

    def test_equal_seeds_make_equal_calls(self):
        def calls(path):
            return [
                (event["kind"], event["space"], event["device"], event["api"], event["result"])
                for event in read_recording.read(path)
                if event["record"] == "event"
            ]

        def run_once():
            return calls(run(9, 5000, 1, RANDOM_CALLS_WITHOUT_HANDLES="1")[0])

        first, second = run_once(), run_once()
        self.assertEqual(first, second)
        self.assertGreater(len(first), 3000)

    def test_a_difference_is_reported_with_the_events_of_the_block(self):
        path, accounting, _ = run(10, 2000, 1)
        with open(accounting, "r+b") as file:
            data = bytearray(file.read())
            at = next(
                at for at in range(CHECKPOINT.size, len(data), ITEM.size) if ITEM.unpack_from(data, at)[0] == DEVICE
            )
            item = list(ITEM.unpack_from(data, at))
            item[5] += 1
            ITEM.pack_into(data, at, *item)
            file.seek(0)
            file.write(data)
        done = compare(path, accounting)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"the driver has: device {item[2]:#x} on device {item[1]}, {item[5]} bytes", done.stdout)
        self.assertRegex(done.stdout, rf"event \d+ thread \d+ alloc device \w+ address {item[2]:#x}")

    def test_an_incomplete_recording_is_not_judged(self):
        path, accounting, recording = run(11, 2000, 1)
        with open(path, "rb") as file:
            data = file.read()
        cut = os.path.join(recording.folder, "cut")
        with open(cut, "wb") as file:
            file.write(data[: len(data) * 2 // 3])
        self.assertEqual(compare(cut, accounting).returncode, INCOMPLETE)


if __name__ == "__main__":
    tap.main()
