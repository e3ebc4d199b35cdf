# SPDX-License-Identifier: MIT
"""Runs each jq example of docs/report-json.md on a small recording."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import cli
import write_recording as w
from definitions import Kind, MarkKind, MarkSource
from ledger_story import LedgerStory
from recording import CUDA, TORCH, MiB

MAIN = "/home/me/train.py:90 in main"
STEPS = 20

# What each example prints about this recording: an expected line, by a word of the example.
EXPECTED = {
    ".peak_bytes] | @tsv": f"0\tcuda\t{64 * MiB}",
    "sort_by(-.peak_bytes)": f"{2 * MiB}\tno stack\t",
    "as $all": "  parameters: 12 %",
    "leaks.json": f"growth {20 * MiB} B  /home/me/train.py:32  ",
    ".ledger[0]": f"device\t{64 * MiB}",
    "would_fit": f'  "requested_bytes": {256 * MiB},',
    ".overview": f"\t{34 * MiB}\tjq.gmt.gz",
    ".complete": "true",
}


def examples():
    """Returns the commands of each block in the section "Examples with jq"."""
    section = cli.read_source("docs", "report-json.md").split("\n## Examples with jq\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)


def training(name, ends):
    """Writes a training with parameters, a leak, memory of CUDA, a refused request and a sample of the device."""
    story = LedgerStory()

    def mark(kind, address=0):
        story.stamp += 10
        story.marks.append(w.mark(story.stamp, kind, MarkSource.INTERPRETER, object=address))

    story.cuda(64, line="/home/me/train.py:5 in load")
    mark(MarkKind.PARAMETER, story.alloc(4 * MiB, "/home/me/train.py:6 in build", MAIN))
    mark(MarkKind.ROLES)

    def step(_number):
        block = story.alloc(8 * MiB, "/home/me/train.py:31 in step", MAIN)
        story.alloc(MiB, "/home/me/train.py:32 in keep", MAIN)
        story.free(block)

    story.alloc(2 * MiB)  # without a stack
    story.steps(STEPS, step)
    story.sample(300)
    frames = story.stack("/home/me/train.py:31 in step", MAIN)
    story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=256 * MiB, frames=frames, result=2)
    stamp = story.event(Kind.ALLOC_FAILED, layer=TORCH, size_bytes=256 * MiB, frames=frames)
    facts = {"thread": 1, "device": 0, "free_bytes": 200 * MiB, "total_bytes": story.total}
    story.ooms.append({"stamp": stamp, **facts})
    return story.write(name, ends=ends)


@unittest.skipUnless(shutil.which("jq"), "no jq on this machine: scripts/setup/packages --test installs it")
class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=cli.FOLDER)

    def run_example(self, example, ends=True, times=1):
        """Writes report.json and leaks.json of a recording, and runs the example in their folder."""
        training("jq.gmt.gz", ends)
        for verb in "report", "leaks":
            done = cli.run(verb, "--json", *["jq.gmt.gz"] * times)
            with open(os.path.join(self.folder, verb + ".json"), "w", encoding="utf-8") as file:
                file.write(done.stdout)
        done = subprocess.run(
            ["sh", "-c", example], capture_output=True, text=True, cwd=self.folder, check=False, timeout=60
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), example)
        self.assertNotIn("null", done.stdout, example)
        return done.stdout

    def test_each_example_on_the_page_prints_the_numbers_of_the_recording(self):
        self.assertEqual(len(examples()), len(EXPECTED))
        for word, line in EXPECTED.items():
            (example,) = (example for example in examples() if word in example)
            with self.subTest(example):
                self.assertIn(line, self.run_example(example).splitlines())

    def test_each_example_reads_several_recordings_too(self):
        for example in examples():
            with self.subTest(example):
                one, two = (self.run_example(example, times=times).splitlines() for times in (1, 2))
                self.assertEqual(set(one), set(two))
                self.assertEqual(len(two), len(one) if "all(" in example else 2 * len(one))

    def test_an_incomplete_recording_prints_the_remarks(self):
        (example,) = (example for example in examples() if ".complete" in example)
        self.assertIn("the recording has no end", self.run_example(example, ends=False))


if __name__ == "__main__":
    cli.main()
