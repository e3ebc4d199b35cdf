# SPDX-License-Identifier: MIT
"""Exports for pprof: the messages of its file, and `go tool pprof` if Go is installed."""

import collections
import gzip
import os
import re
import shutil
import subprocess
import unittest

import viewers

viewers.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import exports  # noqa: E402
import proto_messages  # noqa: E402
import tap  # noqa: E402

MESSAGES = {
    "ValueType": [(1, "type", "int64"), (2, "unit", "int64")],
    "Label": [(1, "key", "int64"), (2, "str", "int64"), (3, "num", "int64")],
    "Sample": [(1, "location_id", "*uint64"), (2, "value", "*int64"), (3, "label", "*Label")],
    "Mapping": [(1, "id", "uint64"), (5, "filename", "int64"), (7, "has_functions", "bool")],
    "Line": [(1, "function_id", "uint64"), (2, "line", "int64")],
    "Location": [(1, "id", "uint64"), (2, "mapping_id", "uint64"), (4, "line", "*Line")],
    "Function": [(1, "id", "uint64"), (2, "name", "int64"), (3, "system_name", "int64"), (4, "filename", "int64")],
    "Profile": [
        (1, "sample_type", "*ValueType"),
        (2, "sample", "*Sample"),
        (3, "mapping", "*Mapping"),
        (4, "location", "*Location"),
        (5, "function", "*Function"),
        (6, "string_table", "*string"),
        (9, "time_nanos", "int64"),
        (10, "duration_nanos", "int64"),
        (13, "comment", "*int64"),
        (14, "default_sample_type", "int64"),
    ],
}
Profile = proto_messages.classes("perftools", MESSAGES)["perftools.Profile"]
KEYS = {
    "alloc_objects": "alloc_count",
    "alloc_space": "total_alloc_bytes",
    "inuse_objects": "live_blocks",
    "inuse_space": "live_bytes",
    "peak_objects": "peak_blocks",
    "peak_space": "peak_bytes",
}
GO = shutil.which("go")


class Read:
    """A profile as plain values."""

    def __init__(self, path, *options):
        profile = Profile.FromString(gzip.decompress(exports.export("pprof", path, *options)))
        self.profile, text = profile, profile.string_table
        functions = {one.id: (text[one.name], text[one.filename]) for one in profile.function}
        locations = {one.id: (*functions[one.line[0].function_id], one.line[0].line) for one in profile.location}
        self.types = [(text[one.type], text[one.unit]) for one in profile.sample_type]
        self.samples = [
            (
                [locations[one] for one in sample.location_id],
                dict(zip((name for name, _unit in self.types), sample.value)),
                {text[label.key]: text[label.str] if label.str else label.num for label in sample.label},
            )
            for sample in profile.sample
        ]

    def sums(self, device):
        found = collections.Counter()
        for _stack, values, labels in self.samples:
            if labels["device"] == device:
                found.update(values)
        return dict(found)


class Pprof(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("pprof.gmt.gz")

    def test_each_number_of_each_device_sums_to_that_of_the_report(self):
        made = cli.make("pprof-made.gmt.gz", events=3000, torch=1, devices=3, depth=5)
        for path in (self.path, made):
            for (layer, device), row in exports.accounts(path).items():
                name = exports.device_name(device)
                if layer in ("cuda", "torch"):
                    found = Read(path, f"--layer={layer}").sums(name)
                    self.assertEqual(found, {name: row[key] for name, key in KEYS.items()}, (layer, name))

    def test_a_stretch_has_the_numbers_of_its_report(self):
        row = exports.stretch(self.path, "--from=step:1", "--until=step:3")["torch", 0]
        found = Read(self.path, "--from=step:1", "--until=step:3").sums("GPU 0")
        self.assertEqual((found["alloc_space"], found["alloc_objects"]), (row["alloc_bytes"], row["allocs"]))

    def test_types_stacks_and_labels_are_those_that_viewers_expect(self):
        read = Read(self.path)
        self.assertEqual(read.types, [(one, "bytes" if "space" in one else "count") for one in KEYS])
        self.assertEqual(read.profile.string_table[0], "")
        self.assertEqual(read.profile.string_table[read.profile.default_sample_type], "peak_space")
        self.assertTrue(read.profile.mapping[0].has_functions)
        stack, values, labels = next(one for one in read.samples if one[0][0][0] == "build")
        self.assertEqual(stack, [("build", "/home/me/model.py", 7), ("main", "/home/me/train.py", 8)])
        self.assertEqual(values["inuse_space"], 4 * exports.MiB)
        self.assertEqual(labels, {"device": "GPU 0", "layer": "torch", "space": "device", "owner": "PyTorch"})
        self.assertIn([("[no stack]", "", 0)], [one[0] for one in read.samples])
        self.assertIn('a;b "c" \\d?<e> ?[2J 1?? \u00e9', read.profile.string_table)
        functions = [(one.name, one.filename) for one in read.profile.function]
        self.assertEqual(len(functions), len(set(functions)))

    @unittest.skipUnless(GO, "needs Go: run scripts/setup/packages --long")
    def test_pprof_itself_prints_the_numbers(self):
        path = viewers.write("pprof", self.path, "of-go.pb.gz")
        peak = sum(one["peak_bytes"] for (layer, _), one in exports.accounts(self.path).items() if layer == "torch")

        def pprof(*words):
            done = subprocess.run([GO, "tool", "pprof", *words, path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        top = pprof("-top", "-unit=B")
        self.assertIn("Type: peak_space", top)
        self.assertIn(f"Total samples = {peak}B", top)
        self.assertRegex(top, r"4194304B .* build\n")
        self.assertRegex(pprof("-tags", "-unit=B"), r"2097152.0?B \(.*\): GPU 1")
        only = pprof("-top", "-unit=B", "-tagfocus=device=GPU 1")
        self.assertTrue(re.search(r" head\n", only) and not re.search(r" build\n", only), only)

    def test_a_group_is_the_outermost_frame_and_a_label(self):
        read = Read(self.path, "--by=step")
        stack, _values, labels = next(one for one in read.samples if one[0][0][0] == "build")
        self.assertEqual([name for name, _file, _line in stack], ["build", "main", "step 0"])
        self.assertEqual(labels["group"], "step 0")
        self.assertEqual(read.sums("GPU 0"), Read(self.path).sums("GPU 0"))

    @unittest.skipUnless(GO, "needs Go: run scripts/setup/packages --long")
    def test_pprof_itself_shows_groups_as_roots(self):
        path = viewers.write("pprof", self.path, "of-go-by-step.pb.gz", "--by=step")
        words = [GO, "tool", "pprof", "-top", "-sample_index=alloc_objects", path]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Columns: flat, its share, their sum, cumulative, its share, name. Step 0 also has the model and two others.
        sums = {
            name: int(line.split()[3]) for line in done.stdout.splitlines() for name in re.findall(r"step \d$", line)
        }
        self.assertEqual(sums, {"step 0": 6, **{f"step {number}": 2 for number in range(1, 6)}})


if __name__ == "__main__":
    tap.main()
