# SPDX-License-Identifier: MIT
"""Exports as traces of Perfetto, read with Perfetto's own description of the format: the numbers are the report's."""

import collections
import os
import unittest

import viewers

viewers.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import exports  # noqa: E402
import tap  # noqa: E402
import write_recording as w  # noqa: E402
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto  # noqa: E402

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC = 3


class Trace:
    """What a viewer knows of a trace after it has read it once."""

    def __init__(self, data):
        trace = proto.Trace.FromString(data)
        trace.DiscardUnknownFields()
        assert len(trace.SerializeToString()) == len(data)
        self.tracks, self.curves, self.slices = {}, collections.defaultdict(list), collections.defaultdict(list)
        self.instants, self.dumps, self.clocks = [], {}, {}
        self.strings, self.frames, self.stacks = {}, {}, {}
        opened = collections.defaultdict(list)
        # A viewer sorts by time. Packets at the same time keep their order.
        for packet in trace.packet:
            self.learn(packet)
        events = [packet for packet in trace.packet if packet.HasField("track_event")]
        for packet in sorted(events, key=lambda one: one.timestamp):
            assert packet.timestamp_clock_id == MONOTONIC and packet.trusted_packet_sequence_id == 1
            event, name = packet.track_event, self.tracks[packet.track_event.track_uuid].name
            if event.type == COUNTER:
                assert self.tracks[event.track_uuid].counter.unit == proto.CounterDescriptor.UNIT_SIZE_BYTES
                self.curves[name].append((packet.timestamp, event.counter_value))
            elif event.type == BEGIN:
                opened[event.track_uuid].append((event.name, packet.timestamp))
            elif event.type == END:
                begun, at = opened[event.track_uuid].pop()
                self.slices[name].append((begun, at, packet.timestamp))
            else:
                self.instants.append((packet.timestamp, event))
        assert not any(opened.values())

    def learn(self, packet):
        if packet.HasField("track_descriptor"):
            self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        for clock in packet.clock_snapshot.clocks:
            self.clocks[clock.clock_id] = clock.timestamp
        data = packet.interned_data
        self.strings.update({one.iid: one.str.decode("utf-8") for one in data.function_names})
        self.frames.update({one.iid: self.strings[one.function_name_id] for one in data.frames})
        self.stacks.update({one.iid: [self.frames[frame] for frame in one.frame_ids] for one in data.callstacks})
        for dump in packet.profile_packet.process_dumps:
            self.dumps[dump.heap_name] = dump


def read(path, *options):
    return Trace(exports.export("perfetto", path, *options))


class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("perfetto.gmt.gz")
        cls.made = cli.make("perfetto-made.gmt.gz", events=3000, torch=1, devices=2, depth=3)

    def test_curves_reach_the_peak_and_end_at_what_is_left(self):
        for path in (self.path, self.made):
            trace = read(path)
            accounts = exports.accounts(path)
            self.assertEqual(len(trace.curves), len(accounts))
            for (layer, device), row in accounts.items():
                values = [value for _, value in trace.curves[f"live memory, {layer}, {exports.device_name(device)}"]]
                self.assertEqual((max(values), values[-1]), (row["peak_bytes"], row["left_bytes"]), (layer, device))

    def test_heap_dumps_sum_to_the_peak_and_to_live_memory(self):
        for path in (self.path, self.made):
            trace = read(path)
            for (layer, device), row in exports.accounts(path).items():
                name = f"{layer}, {exports.device_name(device)}"
                for moment, expected in (("peak", "peak"), ("end of work", "live")):
                    dump = trace.dumps[f"{name}, {moment}"]
                    sums = sum(one.self_allocated for one in dump.samples), sum(one.alloc_count for one in dump.samples)
                    self.assertEqual(sums, (row[f"{expected}_bytes"], row[f"{expected}_blocks"]), (name, moment))
                    self.assertTrue(all(one.callstack_id in trace.stacks for one in dump.samples))

    def test_stacks_begin_with_the_outermost_frame(self):
        trace = read(self.path)
        self.assertIn(["main", "build"], trace.stacks.values())
        self.assertIn(["main", "forward"], trace.stacks.values())

    def test_steps_and_phases_are_slices_with_the_times_of_the_recording(self):
        trace = read(self.path)
        self.assertEqual([name for name, *_ in trace.slices["steps (program)"]], [f"step {i}" for i in range(6)])
        (phases,) = [row for name, row in trace.slices.items() if name.startswith("phases")]
        self.assertEqual(phases, [("forward", at, at + 20) for at in (1100, 1160, 1220, 1280, 1350, 1410)])

    def test_a_refused_request_has_its_numbers(self):
        ((_, event),) = read(self.path).instants
        notes = {one.name: one.string_value or one.uint_value for one in event.debug_annotations}
        self.assertEqual(
            notes, {"layer": "cuda", "device": "GPU 0", "bytes": 1 << 40, "result": 2, "stack": "[no stack]"}
        )

    def test_the_clocks_are_those_of_the_recording(self):
        path = cli.place("clocks.gmt.gz")
        event = {**w.EVENT, "stamp": 3000, "address": 4096, "size_bytes": 9}
        clocks = [
            {"stamp": 1000, "monotonic_ns": 5_000_000, "realtime_ns": 10**18},
            {"stamp": 5000, "monotonic_ns": 5_008_000, "realtime_ns": 10**18 + 8000},
        ]
        w.write(path, w.process(), w.block("clock", clocks[0]), w.block("event", event), w.block("clock", clocks[1]))
        trace = read(path)
        (row,) = trace.curves.values()
        self.assertEqual(row[0], (5_004_000, 9))
        self.assertEqual(trace.clocks[MONOTONIC] - 5_000_000, trace.clocks[1] - 10**18)

    def test_an_end_one_layer_and_one_device_can_be_chosen(self):
        trace = read(self.path, "--layer=torch", "--device=0", "--until=step:2")
        row = exports.accounts(self.path, "--until=step:2")["torch", 0]
        ((name, values),) = trace.curves.items()
        self.assertEqual((name, values[-1][1]), ("live memory, torch, GPU 0", row["live_bytes"]))
        self.assertEqual(set(trace.dumps), {"torch, GPU 0, peak", "torch, GPU 0, end of work"})
        self.assertFalse(trace.instants)


if __name__ == "__main__":
    tap.main()
