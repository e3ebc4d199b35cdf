# SPDX-License-Identifier: MIT
"""report --json: every number equals a replay that shares no code with it; keys are as documented."""

import json
import unittest

import cli
import write_recording as w
from definitions import Kind, Layer, Space
from recording import CUDA, Story
from report_checks import ReportChecks

KEYS = {
    "": {
        "schema": str,
        "complete": bool,
        "events": dict,
        "process": dict,
        "devices": list,
        "host": dict,
        "sites": list,
    },
    "events": {"recorded": int, "dropped": int},
    "process": {"pid": int, "host": str, "rank": (int, type(None)), "command": list, "start_time_ns": int},
    "host": {"live_bytes": int, "peak_bytes": int},
    "device": {"device": int, "name": str, "uuid": str, "total_bytes": int, "layers": list},
    "layer": {
        "layer": str,
        "live_bytes": int,
        "live_blocks": int,
        "peak_bytes": int,
        "peak_time_ns": int,
        "alloc_count": int,
        "free_count": int,
        "total_alloc_bytes": int,
        "spaces": list,
    },
    "space": {"space": str, "live_bytes": int, "peak_bytes": int},
    "site": {
        "layer": str,
        "device": (int, type(None)),
        "space": str,
        "live_bytes": int,
        "live_blocks": int,
        "peak_bytes": int,
        "max_live_bytes": int,
        "total_bytes": int,
        "allocs": int,
        "frees": int,
        "stack": list,
    },
    "frame": {
        "kind": str,
        "function": str,
        "file": (str, type(None)),
        "line": (int, type(None)),
        "module": (str, type(None)),
    },
}


def alloc(stamp, address, size, **more):
    return {**w.EVENT, "stamp": stamp, "device": 0, "address": address, "size_bytes": size, **more}


def free(stamp, address, **more):
    return {**w.EVENT, "stamp": stamp, "kind": Kind.FREE, "device": -2, "address": address, **more}


class Report(ReportChecks):
    def check_keys(self, value, name):
        for key, kind in KEYS[name].items():
            self.assertIsInstance(value[key], kind, f"{name}.{key}")

    def test_the_documented_keys_are_there_with_their_types(self):
        report = cli.report(cli.make("keys.gmt.gz", events=2000))
        self.assertEqual(report["schema"], "gpumemtrace.report/2")
        for name in "", "events", "process", "host":
            self.check_keys(report[name] if name else report, name)
        for device in report["devices"]:
            self.check_keys(device, "device")
            for layer in device["layers"]:
                self.check_keys(layer, "layer")
                for space in layer["spaces"]:
                    self.check_keys(space, "space")
        for site in report["sites"]:
            self.check_keys(site, "site")
            for frame in site["stack"]:
                self.check_keys(frame, "frame")
                self.assertIn(frame["kind"], ("python", "native"))
        self.assertEqual(report["process"]["command"], ["python", "train.py", "--epochs=3"])

    def test_every_number_equals_an_independent_replay(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                path = cli.make(
                    f"s{seed}.gmt.gz", seed=seed, events=3000, threads=1 + seed, live=30 * seed + 5, depth=3
                )
                self.check_conservation(self.check_numbers(path))

    def test_at_any_moment_the_numbers_are_those_of_a_replay_up_to_it(self):
        path = cli.make("until.gmt.gz", events=1500, threads=2, live=50)
        end = cli.report(path)["process"]["duration_ns"]
        for until_ns in 0, 1, end // 7, end // 3, end // 2, end - 1, end, end * 2:
            with self.subTest(until_ns=until_ns):
                report = self.check_numbers(path, until_ns)
                self.assertEqual(report["until_ns"], until_ns)
                self.assertEqual(report["events"]["recorded"], 1500)

    def test_until_takes_the_unix_epoch_too(self):
        path = cli.make("epoch.gmt.gz", events=1500)
        report = cli.report(path, "--until=200000")
        epoch = cli.report(path, f"--until={report['process']['start_time_ns'] + 200000}")
        self.assertEqual(epoch, report)

    def test_the_moment_of_the_peak_includes_the_event_that_made_it(self):
        path = cli.make("peak.gmt.gz", events=3000)
        layer = cli.report(path)["devices"][0]["layers"][1]
        at_peak = cli.report(path, f"--until={layer['peak_time_ns']}")["devices"][0]["layers"][1]
        self.assertEqual(at_peak["live_bytes"], layer["peak_bytes"])

    def test_sites_are_sorted_by_peak_or_as_asked_and_limited_only_on_request(self):
        path = cli.make("sort.gmt.gz", events=3000)
        for arguments, key in ([], "peak_bytes"), (["--sort=live"], "live_bytes"), (["--sort=total"], "total_bytes"):
            values = [site[key] for site in cli.report(path, *arguments)["sites"]]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertGreater(len(values), 100)
        self.assertEqual(len(cli.report(path, "--limit=3")["sites"]), 3)

    def test_each_of_several_files_has_the_line_that_it_has_alone(self):
        one, two = cli.make("one.gmt.gz", rank=0), cli.make("two.gmt.gz", rank=1, seed=2)
        for verb in "report", "leaks", "info":
            with self.subTest(verb):
                both = cli.run(verb, "--json", one, two).stdout
                self.assertEqual(both, "".join(cli.run(verb, "--json", path).stdout for path in (one, two)))
                self.assertEqual([answer["file"] for answer in cli.reports(verb, one, two)], [one, two])
                (schema,) = {answer["schema"] for answer in cli.reports(verb, one, two)}
                self.assertEqual(schema, f"gpumemtrace.{verb}/2")
        self.assertEqual([report["process"]["rank"] for report in cli.reports("report", one, two)], [0, 1])

    def test_without_a_rank_it_is_null(self):
        self.assertIsNone(cli.report(cli.make("norank.gmt.gz"))["process"]["rank"])

    def test_a_device_without_events_is_listed_with_its_cuda_layer(self):
        path = cli.place("idle.gmt.gz")
        w.write(path, w.process(), w.block("device", {"ordinal": 3, "name": "idle", "total_bytes": 5}), w.end(0))
        (device,) = cli.report(path)["devices"]
        self.assertEqual(device["device"], 3)
        self.assertEqual([layer["layer"] for layer in device["layers"]], ["cuda"])
        self.assertEqual(device["layers"][0]["peak_bytes"], 0)

    def test_the_two_layers_are_listed_separately_and_not_added(self):
        path = cli.place("layers.gmt.gz")
        w.write(
            path,
            w.process(),
            w.block(
                "event",
                alloc(2000, 4096, 1000),
                alloc(2001, 4096, 100, layer=Layer.TORCH),
                free(2002, 4096, layer=Layer.TORCH),
            ),
            w.end(3),
        )
        cuda, torch = cli.report(path)["devices"][0]["layers"]
        self.assertEqual((cuda["live_bytes"], torch["live_bytes"], torch["peak_bytes"]), (1000, 0, 100))

    def test_host_memory_is_under_host_with_sites_of_no_device(self):
        path = cli.place("host.gmt.gz")
        w.write(
            path,
            w.process(),
            w.block(
                "event",
                alloc(2000, 4096, 1000, space=Space.PINNED, device=-1),
                alloc(2001, 8192, 7, space=Space.PINNED, device=2),
            ),
            w.end(2),
        )
        report = cli.report(path)
        self.assertEqual(report["devices"], [])
        self.assertEqual(report["host"]["live_bytes"], 1007)
        self.assertEqual([site["device"] for site in report["sites"]], [None])

    def test_refused_requests_are_reported_with_their_stack(self):
        path = cli.place("refused.gmt.gz")
        w.write(
            path,
            w.process(),
            w.block("api", {"id": 1, "name": "cuMemAlloc_v2", "library": "cuda"}),
            w.block("code", {"id": 1, "function": "f", "file": "/home/me/a.py"}),
            w.block("frame", {"id": 1, "code": 1, "line": 9}),
            w.block("frames", {"id": 1, "items": [3]}),
            w.block(
                "event",
                {**alloc(2000, 0, 1 << 40), "kind": Kind.ALLOC_FAILED, "result": 2, "api": 1, "frames": 1},
                {**free(3000, 4096), "kind": Kind.FREE_FAILED, "result": 1},
            ),
            w.end(2),
        )
        report = cli.report(path)
        (refused,) = report["refused"]
        self.assertEqual((refused["size_bytes"], refused["result"], refused["api"]), (1 << 40, 2, "cuMemAlloc_v2"))
        self.assertEqual(refused["stack"][0]["line"], 9)
        self.assertEqual(report["sites"], [])
        self.assertEqual(report["devices"][0]["layers"][0]["refused_count"], 1)
        self.assertEqual(report["anomalies"]["refused_frees"], 1)

    def test_totals_that_disagree_with_the_blocks_are_reported(self):
        path = cli.place("totals.gmt.gz")
        w.write(
            path,
            w.process(),
            w.block(
                "event", alloc(2000, 4096, 512, layer=Layer.TORCH, allocated_bytes=1 << 20, reserved_bytes=2 << 20)
            ),
            w.end(1),
        )
        report = cli.report(path)
        (layer,) = [layer for layer in report["devices"][0]["layers"] if layer["layer"] == "torch"]
        self.assertEqual(
            layer["reported"],
            {
                "allocated_bytes": (1 << 20) + 512,
                "allocated_peak_bytes": (1 << 20) + 512,
                "reserved_bytes": 2 << 20,
                "reserved_peak_bytes": 2 << 20,
                "unseen_bytes": 1 << 20,
                "disagreements": 1,
            },
        )
        self.assertTrue(any("1048576 bytes more" in remark for remark in report["remarks"]))

    def test_dropped_events_make_a_report_incomplete(self):
        report = cli.report(cli.make("drop.gmt.gz", drop=17))
        self.assertEqual((report["complete"], report["events"]["dropped"]), (False, 17))
        self.assertEqual(report["events"]["drops"], [{"thread": 1, "reason": "the ring was full", "count": 17}])

    def test_a_recording_without_an_end_is_incomplete_but_not_damaged(self):
        path = cli.make("noend.gmt.gz", end=0)
        done = cli.run("report", "--json", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(json.loads(done.stdout)["complete"])
        self.assertEqual(cli.run("report", "--strict", path).returncode, 4)
        self.assertEqual(cli.run("info", "--strict", path).returncode, 4)

    def test_names_that_are_not_utf8_become_valid_json(self):
        path = cli.place("bytes.gmt.gz")
        w.write(
            path,
            w.process(directory=b"/\xc3(\xa0\x80\xed\xa0\x80\xf8", command=b"\xff\0\xe2\x82\xac\0"),
            w.block("code", {"id": 1, "function": b"\x00\x1b\"\\", "file": b"\xf0\x9f\x98\x80"}),
            w.block("frame", {"id": 1, "code": 1}),
            w.block("frames", {"id": 1, "items": [3]}),
            w.block("event", alloc(2000, 4096, 8, frames=1)),
        )
        done = cli.run("report", "--json", path, text=False)
        report = json.loads(done.stdout.decode("utf-8"))
        self.assertEqual(report["process"]["command"], ["\ufffd", "\u20ac"])
        self.assertEqual(report["sites"][0]["stack"][0]["file"], "\U0001f600")

    def test_refused_frees_are_listed_with_their_lines_and_the_live_block_there(self):
        story = Story()
        block = story.alloc(4096, "/home/me/train.py:3 in load", layer=CUDA)
        story.event(4, layer=CUDA, address=block, result=900, frames=story.stack("/home/me/train.py:8 in capture"))
        story.free(block)
        twice = story.stack("/home/me/train.py:9 in drop", "/home/me/train.py:20 in main")
        for _ in range(6):
            story.event(4, layer=CUDA, address=block, result=1, frames=twice)
        report = cli.report(story.write("refused.gmt.gz"))
        self.assertEqual(
            [
                (free["address"], free["live"], free["result"], free["stack"][free["own_frame"]]["line"])
                for free in report["refused_frees"]
            ],
            [(block, True, 900, 8)] + [(block, False, 1, 9)] * 6,
        )
        self.assertEqual(report["anomalies"]["refused_frees"], 7)
        text = cli.run("report", "--full", cli.place("refused.gmt.gz")).stdout
        self.assertIn("\nRefused frees: 7; the last ones\n", text)
        self.assertEqual(text.count(f"  {block:#x}, no live block, by an unknown function, error 1, at "), 5)
        self.assertIn("  train.py:9 in drop\n", text)


class PinMemory(unittest.TestCase):
    LOADER = "/venv/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py"
    HEADING = "by PyTorch's pin-memory thread (DataLoader)"

    def record(self, name, *leaf):
        story = Story()
        story.alloc(
            4096,
            *leaf,
            f"{self.LOADER}:57 in pin_memory",
            f"{self.LOADER}:37 in _pin_memory_loop.<locals>.do_one_step",
            f"{self.LOADER}:48 in _pin_memory_loop",
            "/usr/lib/python3.11/threading.py:982 in Thread.run",
            layer=CUDA,
            space=Space.PINNED,
        )
        return story.write(name)

    def test_memory_pinned_by_pytorchs_thread_is_listed_under_that_thread(self):
        path = self.record("pinned.gmt.gz")
        text = cli.run("report", "--full", path).stdout
        self.assertIn(f"1 x  #1 {self.HEADING}", text)
        self.assertIn("torch/utils/data/_utils/pin_memory.py:57 in pin_memory", text)
        self.assertIn(f"  {self.HEADING}\n", cli.run("report", "--by", "line", path).stdout)

    def test_a_program_line_in_that_thread_is_the_heading(self):
        text = cli.run("report", "--full", self.record("own.gmt.gz", "/home/me/batch.py:9 in Batch.pin_memory")).stdout
        self.assertIn("1 x  #1 batch.py:9 in Batch.pin_memory", text)
        self.assertNotIn(self.HEADING, text)


class Commands(unittest.TestCase):
    def command(self, command):
        path = cli.place("title.gmt.gz")
        w.write(
            path,
            w.process(command=command, start_stamp=0),
            w.block("event", alloc(100, 0x1000, 4096)),
            w.end(1, 1100),
        )
        return cli.report(path)["process"]["command"]

    def test_a_process_title_is_one_argument(self):
        self.assertEqual(self.command(b"worker: rank 0" + bytes(60)), ["worker: rank 0"])

    def test_empty_arguments_are_arguments(self):
        self.assertEqual(self.command(b"python\0train.py\0\0\0"), ["python", "train.py", "", ""])
        self.assertEqual(self.command(b"python\0\0"), ["python", ""])


if __name__ == "__main__":
    cli.main()
