# SPDX-License-Identifier: MIT
"""Exports as PyTorch snapshots: the rules of its viewer, and the program torch/cuda/_memory_viz.py."""

import glob
import json
import os
import subprocess
import unittest

import cli
import exports
import heap_story
import snapshot_checks
import tap
import viewers

PYTHON = viewers.setup("python")


def memory_viz():
    (path,) = glob.glob(
        os.path.join(
            os.path.dirname(PYTHON), "..", "lib", "python3*", "site-packages", "torch", "cuda", "_memory_viz.py"
        )
    )
    return path


def snapshot(path, *options):
    return snapshot_checks.read(exports.export("torch", path, *options))


def live(found, device):
    """Returns the bytes and the number of the live blocks of a device."""
    sizes = [
        block["size"]
        for segment in found["segments"]
        for block in segment["blocks"]
        if segment["device"] == device and block["state"] == "active_allocated"
    ]
    return sum(sizes), len(sizes)


def peak(trace):
    """Returns the peak of a trace that begins with nothing."""
    now = most = 0
    for event in trace:
        now += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
        most = max(most, now)
    return most


class Snapshot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("torch.gmt.gz")
        cls.made = cli.make("torch-made.gmt.gz", events=3000, torch=1, devices=3, depth=5)

    def test_live_memory_peaks_and_counts_are_those_of_the_report(self):
        for path in (self.path, self.made):
            for layer in ("torch", "cuda"):
                found = snapshot(path, f"--layer={layer}")
                for (of, device), row in exports.accounts(path).items():
                    if of != layer or device is None:
                        continue
                    trace = found["device_traces"][device]
                    self.assertEqual(live(found, device), (row["live_bytes"], row["live_blocks"]))
                    self.assertEqual(peak(trace), row["peak_bytes"])
                    self.assertEqual(sum(one["action"] == "alloc" for one in trace), row["alloc_count"])
                    self.assertEqual(sum(one["action"] == "free_completed" for one in trace), row["free_count"])

    def test_events_have_their_step_and_phase(self):
        question = (
            "select step, phase from events where layer = 'torch' and device = 0 and kind = 'alloc' order by time_ns"
        )
        wanted = [
            {name: value for name, value in row.items() if value is not None}
            for row in json.loads(cli.run("sql", "--json", self.path, question).stdout)
        ]
        trace = snapshot(self.path)["device_traces"][0]
        found = [one.get("user_metadata", {}) for one in trace if one["action"] == "alloc"]
        self.assertEqual(found, wanted)
        self.assertGreater(len({one.get("step") for one in found}), 5)
        self.assertGreater(len({one.get("phase") for one in found}), 1)

    def test_segments_are_the_drivers_blocks_in_which_pytorchs_lie(self):
        found = {(one["device"], one["address"]): one for one in snapshot(self.path)["segments"]}
        self.assertEqual(set(found), {(0, 0x10_0000_0000), (1, 0x20_0000_0000)})
        self.assertEqual(found[0, 0x10_0000_0000]["total_size"], 64 * exports.MiB)
        self.assertEqual(found[0, 0x10_0000_0000]["frames"][0]["line"], 4)

    def test_a_moment_has_its_state_and_the_events_before_it(self):
        for option in ("--at=step:2", "--until=step:2"):
            found = snapshot(self.path, option)
            row = exports.accounts(self.path, "--until=step:2")["torch", 0]
            self.assertEqual(live(found, 0), (row["live_bytes"], row["live_blocks"]))

    def test_frames_are_innermost_first(self):
        events = snapshot(self.path)["device_traces"][0]
        self.assertEqual(
            [(one["filename"], one["line"], one["name"]) for one in events[1]["frames"]],
            [("/home/me/model.py", 7, "build"), ("/home/me/train.py", 8, "main")],
        )
        self.assertEqual([one["size"] for one in events if one["action"] == "oom"], [1 << 40])
        self.assertTrue(all(events[i]["time_us"] <= events[i + 1]["time_us"] for i in range(len(events) - 1)))

    def test_the_newest_events_are_kept_and_a_line_says_so(self):
        whole = snapshot(self.made)
        count = sum(len(trace) for trace in whole["device_traces"])
        self.assertFalse(whole["allocator_settings"]["trace_alloc_overflowed"])
        done = cli.run("export", "--format=torch", "--max-events=500", "-o", "few.pickle", self.made)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(f"the first {count - 500:,} of {count:,} events are not included", done.stderr)
        with open(cli.place("few.pickle"), "rb") as file:
            few = snapshot_checks.read(file.read())
        self.assertTrue(few["allocator_settings"]["trace_alloc_overflowed"])
        self.assertEqual(sum(len(trace) for trace in few["device_traces"]), 500)
        for all_, last in zip(whole["device_traces"], few["device_traces"]):
            self.assertEqual(last, all_[len(all_) - len(last) :] if last else [])
        self.assertEqual(few["segments"], whole["segments"])

    def test_one_device_can_be_chosen(self):
        found = snapshot(self.path, "--device=1")
        self.assertEqual(found["device_traces"][0], [])
        self.assertEqual(live(found, 1), (2 * exports.MiB, 1))
        self.assertEqual({one["device"] for one in found["segments"]}, {1})

    def test_blocks_of_the_programs_heaps_get_segments_of_their_own(self):
        path = heap_story.serve().write("heap.gmt.gz")
        found = snapshot(path, "--layer=custom")
        row = exports.accounts(path)["custom", 0]
        self.assertEqual(live(found, 0), (row["live_bytes"], row["live_blocks"]))
        self.assertGreater(row["live_blocks"], 0)

    @unittest.skipUnless(PYTHON, "needs PyTorch: run scripts/setup/python")
    def test_pytorchs_program_reads_it(self):
        home = cli.place("home")
        os.makedirs(os.path.join(home, ".cache"), exist_ok=True)
        # The program would download flamegraph.pl. This one returns what it gets: folded stacks.
        with open(os.path.join(home, ".cache", "flamegraph.pl"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec cat\n")
        os.chmod(file.name, 0o755)
        row = exports.accounts(self.path)
        total = sum(row["torch", device]["live_bytes"] for device in (0, 1))
        path = viewers.write("torch", self.path, "read.pickle")

        def run(*words):
            done = subprocess.run(
                [PYTHON, memory_viz(), *words], capture_output=True, text=True, env={**os.environ, "HOME": home}
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        self.assertIn("total_reserved: 96.0MiB\ntotal_allocated: 6.4MiB", run("stats", path))
        self.assertIn("a = cudaMalloc(68719476736, 64.0MiB)\nb = a[0:4.0MiB]", run("trace", path))
        for words in (["trace_plot"], ["trace_plot", "-s"], ["trace_plot", "-f"], ["segment_plot"]):
            out = cli.place("plot.html")
            run(*words, "-o", out, path)
            self.assertGreater(os.path.getsize(out), 1000)
        for word in ("memory", "segments"):
            out = cli.place("flame.folded")
            run(word, "-o", out, path)
            with open(out, encoding="utf-8") as file:
                sizes = [line.rsplit(" ", 1) for line in file.read().splitlines() if "active_allocated" in line]
            self.assertEqual(sum(int(size) for _stack, size in sizes), total)


if __name__ == "__main__":
    tap.main()
