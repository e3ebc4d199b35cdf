# SPDX-License-Identifier: MIT
"""Recordings of real PyTorch equal what PyTorch counted, to the byte."""

import json
import os
import unittest

import tap
from definitions import Kind, Space
from recorded_run import SIM_PYTHON, RecordedRun, report, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def record(script, *arguments, environment=None, options=None, meanwhile=None):
    command, libraries = sim_python(os.path.join(SCRIPTS, script), *arguments)
    run = RecordedRun(command, options, environment, libraries=libraries, meanwhile=meanwhile)
    assert run.code == 0, (run.code, run.err)
    return run, json.loads(run.out.splitlines()[-1])


def own_file(run):
    """Returns the recording of the script itself, not of processes that it started."""
    return max(run.files, key=os.path.getsize)


def layers_of(result, device):
    (found,) = [entry for entry in result["devices"] if entry["device"] == device]
    return {layer["layer"]: layer for layer in found["layers"]}


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Exact(unittest.TestCase):
    def check(self, script, *arguments, environment=None, reserved_by_malloc=True):
        run, printed = record(script, *arguments, environment=environment)
        result = report(own_file(run), "--until", str(printed["time_ns"]))
        whole = report(own_file(run))
        self.assertTrue(whole["complete"], whole)
        self.assertEqual(whole["events"]["dropped"], 0)
        for counts in printed["devices"]:
            layers = layers_of(result, counts["device"])
            torch = layers["torch"]
            self.assertEqual(torch["peak_bytes"], counts["max_memory_allocated"])
            self.assertEqual(torch["live_bytes"], counts["memory_allocated"])
            self.assertEqual(torch["alloc_count"], counts["allocated_count"])
            self.assertEqual(torch["free_count"], counts["freed_count"])
            if reserved_by_malloc:
                self.assertEqual(layers["cuda"]["peak_bytes"], counts["max_memory_reserved"])
                self.assertEqual(layers["cuda"]["live_bytes"], counts["memory_reserved"])
                self.assertEqual(layers["cuda"]["alloc_count"], counts["segment_count"])
            self.check_sums(result, counts["device"], layers)
        return run, printed, result

    def check_sums(self, result, device, layers):
        for name, layer in layers.items():
            sites = [site for site in result["sites"] if (site["layer"], site["device"]) == (name, device)]
            self.assertEqual(sum(site["peak_bytes"] for site in sites), layer["peak_bytes"])
            self.assertEqual(sum(site["live_bytes"] for site in sites), layer["live_bytes"])
            self.assertEqual(sum(site["total_bytes"] for site in sites), layer["total_alloc_bytes"])
            self.assertEqual(sum(site["allocs"] for site in sites), layer["alloc_count"])

    def test_a_convnet_with_adam(self):
        self.check("convnet.py")

    def test_a_transformer(self):
        run, _, result = self.check("transformer_loop.py", "5")
        own = {
            frame["function"]
            for site in result["sites"]
            for frame in site["stack"]
            if frame["kind"] == "python" and frame["file"].endswith("transformer_loop.py")
        }
        self.assertGreater(len(own), 3, own)
        per_event = os.path.getsize(own_file(run)) / result["events"]["recorded"]
        self.assertLess(per_event, 16, "bytes per event, of a short run; scripts/bench has the long one")

    def test_a_hugging_face_gpt2(self):
        self.check("gpt2.py")

    def test_several_python_threads(self):
        self.check("threads.py")

    def test_two_devices(self):
        _, printed, _ = self.check("two_devices.py", environment={"SIMCUDA_DEVICES": "2"})
        self.assertEqual([counts["device"] for counts in printed["devices"]], [0, 1])

    def test_pinned_memory_and_loader_workers(self):
        _, _, result = self.check("pinned_loader.py")
        self.assertGreater(result["host"]["peak_bytes"], 0)
        pinned = [site for site in result["sites"] if site["space"] == "pinned"]
        self.assertTrue(pinned)
        self.assertEqual({site["device"] for site in pinned}, {None})
        # The stack of PyTorch's thread has no line of the program, so the report shows the thread's loop.
        self.assertEqual({site["stack"][site["own_frame"]]["function"] for site in pinned}, {"_pin_memory_loop"})

    def test_expandable_segments_have_exact_blocks(self):
        self.check("expandable.py", reserved_by_malloc=False)

    def test_out_of_memory_is_an_event_with_the_request_and_the_stack(self):
        run, printed = record("oom.py", environment={"SIMCUDA_MEMORY": "1G"})
        result = report(own_file(run), "--until", str(printed["time_ns"]))
        torch = layers_of(result, 0)["torch"]
        self.assertEqual(torch["peak_bytes"], printed["devices"][0]["max_memory_allocated"])
        failed = [event for event in run.records("event") if event["kind"] == Kind.ALLOC_FAILED]
        names = {row["id"]: row["name"] for row in run.records("api")}
        self.assertLessEqual({"cudaMalloc", "reportOutOfMemoryToProfiler"}, {names[event["api"]] for event in failed})
        for event in failed:
            self.assertGreater(event["size_bytes"], 0)
            self.assertNotEqual(event["frames"], 0)

    def test_the_drivers_own_allocator_is_recorded_at_the_driver(self):
        run, printed = record("malloc_async.py")
        counts = printed["devices"][0]
        result = report(own_file(run), "--until", str(printed["time_ns"]))
        (pool,) = [space for space in layers_of(result, 0)["cuda"]["spaces"] if space["space"] == "pool"]
        # The driver counts blocks in units of 512 bytes. The recording has the requested sizes.
        self.assertEqual(self.rounded_peak(run), counts["max_memory_allocated"])
        self.assertLessEqual(pool["peak_bytes"], counts["max_memory_allocated"])
        self.assertGreater(pool["peak_bytes"], 0.99 * counts["max_memory_allocated"])

    def rounded_peak(self, run):
        live, peak, blocks = 0, 0, {}
        for event in sorted(run.records("event"), key=lambda event: event["stamp"]):
            if event["space"] == Space.POOL and event["kind"] == Kind.ALLOC:
                blocks[event["address"]] = -(-event["size_bytes"] // 512) * 512
                live += blocks[event["address"]]
            elif event["space"] == Space.POOL and event["kind"] == Kind.FREE:
                live -= blocks.pop(event["address"])
            peak = max(peak, live)
        return peak


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class PythonStacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording, cls.printed = record("python_stacks.py")
        cls.result = report(own_file(cls.recording))

    def frames_of(self, size_bytes):
        """Returns the Python frames of the block of this size. A site may hold several blocks with the same stack."""
        names = {row["id"]: row for row in self.rows["frame"]}
        codes = {row["id"]: row for row in self.rows["code"]}
        stacks = {row["id"]: row["items"] for row in self.rows["frames"]}
        (event,) = [
            event
            for event in self.rows["event"]
            if (event["kind"], event["layer"], event["size_bytes"]) == (1, 2, size_bytes)
        ]
        frames = [names[item >> 1] for item in stacks[event["frames"]]]
        return [[codes[frame["code"]]["function"], codes[frame["code"]]["file"], frame["line"]] for frame in frames]

    def test_every_python_frame_equals_that_of_traceback(self):
        self.rows = {kind: self.recording.records(kind) for kind in ("frame", "code", "frames", "event")}
        threads = set()
        for entry in self.printed["printed"]:
            with self.subTest(size=entry["size_bytes"], thread=entry["thread"]):
                recorded = self.frames_of(entry["size_bytes"])
                # traceback has plain names. The recording has qualified names.
                plain = [[name.split(".")[-1], file, line] for name, file, line in recorded]
                self.assertEqual(plain, entry["stack"])
            threads.add(entry["thread"])
        self.assertGreater(len(self.printed["printed"]), 15)
        self.assertGreaterEqual(len(threads), 6, "main, four workers, autograd's")

    def test_merged_stacks_have_every_python_frame_in_order(self):
        by_frames = set()
        for site in self.result["sites"]:
            python = [
                [frame["function"].split(".")[-1], frame["file"], frame["line"]]
                for frame in site["stack"]
                if frame["kind"] == "python"
            ]
            if site["layer"] == "torch":
                by_frames.add(json.dumps(python))
                # Stacks of autograd's threads continue with the frames of the thread that called the backward pass.
                calls = [i for i, frame in enumerate(python) if frame[1].endswith("torch/autograd/__init__.py")]
                by_frames.update(json.dumps(python[:i]) for i in calls)
        for entry in self.printed["printed"]:
            self.assertIn(json.dumps(entry["stack"]), by_frames)

    def test_native_frames_stand_between_python_ones_where_c_called_python(self):
        for site in self.result["sites"]:
            functions = [frame["function"] for frame in site["stack"]]
            if "Doubled.backward" in functions:
                native = [frame["function"] or "" for frame in site["stack"] if frame["kind"] == "native"]
                self.assertTrue(any("autograd" in name for name in native), functions)
                return
        self.fail("no block of Doubled.backward")


if __name__ == "__main__":
    tap.main()
