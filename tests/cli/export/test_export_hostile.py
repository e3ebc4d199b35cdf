# SPDX-License-Identifier: MIT
"""Exports of recordings that anyone may have written: no crash, no commands for a terminal, bounded output."""

import glob
import json
import os
import re
import resource

import cli
import hostile_texts
import write_recording as w
from definitions import Kind, Space

FORMATS = re.findall(
    r'^GMT_EXPORT_FORMAT\(\w+, "(\w+)", "[^"]*", (?:PROFILE|EVENTS)',
    cli.read_source("src", "render", "export", "export_formats.def"),
    re.M,
)
# Formats whose file is text without escapes.
TEXT = ("folded", "heaptrack")


class Hostile(hostile_texts.SafeOutput):
    def test_each_format_ends_well_for_each_kept_recording(self):
        self.assertGreater(len(FORMATS), 4)
        for seed in sorted(glob.glob(os.path.join(hostile_texts.SEEDS, "*"))):
            path = cli.place("seed.gmt.gz")
            with open(seed, "rb") as file:
                hostile_texts.write_content(file.read(), path)
            for form in FORMATS:
                done = cli.run("export", "--format", form, "-o", "-", path, text=False)
                self.assertIn(done.returncode, (0, 2, 3), (form, seed, done.stderr))
                self.check(done.stderr)

    def test_a_small_file_with_many_events_makes_no_large_output(self):
        nodes = range(1000)
        path = cli.place("launches.gmt.gz")
        event = {**w.EVENT, "space": Space.GRAPH}
        w.write(
            path,
            w.process(),
            w.block("event", {**event, "stamp": 1, "kind": Kind.CREATE, "address": 5, "object": 1}),
            w.block(
                "event",
                *(
                    {
                        **event,
                        "stamp": 2,
                        "kind": Kind.NODE_ALLOC,
                        "address": (1 + i) << 12,
                        "object": 5,
                        "size_bytes": 9,
                    }
                    for i in nodes
                ),
            ),
            w.block("event", *({**event, "stamp": 3 + i, "kind": Kind.LAUNCH, "address": 5} for i in nodes)),
        )
        cut = []
        for form in FORMATS:
            options = ["--max-events=100000000"] if form == "torch" else []
            done = cli.run("export", "--format", form, *options, "-o", "-", path, text=False)
            self.assertLess(len(done.stdout), 64 << 20, form)
            is_cut = b"the end of the output is not included" in done.stderr
            self.assertEqual(done.returncode, 4 if is_cut else 0, (form, done.stderr))
            if is_cut:
                cut.append(form)
            if form == "ndjson":
                for line in done.stdout.splitlines()[-3:]:
                    json.loads(line)
        self.assertEqual(cut, ["torch", "ndjson"])

    def test_texts_in_files_command_no_terminal(self):
        for path in hostile_texts.make_all():
            for form in TEXT:
                done = cli.run("export", "--format", form, "-o", "-", path, text=False)
                self.check(done.stdout, is_log=False)

    def test_a_full_disk_leaves_the_old_file_in_each_format(self):
        path = cli.make("large.gmt.gz", events=20000, torch=1, devices=1, sites=200)
        for form in FORMATS:
            out = cli.place(f"full-{form}")
            with open(out, "w", encoding="utf-8") as file:
                file.write("old")
            done = cli.run(
                "export",
                "--format",
                form,
                "-o",
                out,
                path,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
            )
            self.assertEqual((done.returncode, done.stdout), (3, ""), form)
            with open(out, encoding="utf-8") as file:
                self.assertEqual(file.read(), "old")
            self.assertEqual([one for one in os.listdir(cli.FOLDER) if "unfinished" in one], [])


if __name__ == "__main__":
    cli.main()
