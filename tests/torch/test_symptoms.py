# SPDX-License-Identifier: MIT
"""The pages of docs/symptoms show what the tool prints about recordings that this test makes."""

import os
import re
import sys
import tempfile
import unittest

import tap
from recorded_run import BUILD, SIM_PYTHON

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs", "examples", "symptoms"))

import cases  # noqa: E402  (found by the line above)
import symptoms  # noqa: E402

# These texts differ from run to run, or with the version of PyTorch or Python.
VARIES = [
    (re.compile(r"\b\d+(\.\d+)? (ns|us|ms|s)\b"), "TIME"),
    (re.compile(r" \(\+\d+\)"), ""),  # omitted frames
    (re.compile(r"(torch/\S+\.py):\d+"), r"\1:LINE"),
    (re.compile(r"\S*_ctypes\S*\+0x[0-9a-f]+"), "_ctypes"),
    (
        re.compile(r"[\d,]+ (events are in the memory|of them from the memory) of (the killed process|process \d+)"),
        r"N \1",
    ),
    (re.compile(r"complete: [\d,]+ events"), "complete: N events"),
    (re.compile(r"full (in|after) [\d,]+"), r"full \1 N"),  # reduced by the memory that this version of PyTorch holds
]
PYTORCH = "2.15"
TRIES = 3  # the time when PyTorch's threads release the results of a step varies


def words(text):
    """Returns the words without the texts that vary. Line breaks vary too, because times have different lengths."""
    for pattern, instead in VARIES:
        text = pattern.sub(instead, text)
    return text.split()


def texts():
    """Returns the text of the index and of each page, by path."""
    return {path: path.read_text(encoding="utf-8") for path in [symptoms.INDEX, *symptoms.PAGES]}


def blocks():
    """Returns name and text of each block, as the pages show it."""
    return [
        (found["name"], found["text"])
        for path in symptoms.PAGES
        for found in symptoms.BLOCK.finditer(path.read_text(encoding="utf-8"))
    ]


class Pages(unittest.TestCase):
    def test_each_block_that_is_declared_is_on_one_page_and_no_other(self):
        self.assertEqual(sorted(name for name, _text in blocks()), sorted(cases.BLOCKS))

    def test_each_page_is_linked_from_the_index(self):
        index = texts()[symptoms.INDEX]
        for path in symptoms.PAGES:
            with self.subTest(page=path.name):
                self.assertIn(f"({os.path.relpath(path, symptoms.INDEX.parent)})", index)

    def test_each_script_that_is_recorded_is_linked(self):
        shown = "".join(texts().values())
        for script, _arguments, _environment in cases.RECORDINGS.values():
            with self.subTest(script=script):
                self.assertIn(f"({os.path.relpath(script, 'docs/symptoms')})", shown)


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
@unittest.skipUnless(
    os.environ.get("GPUMEMTRACE_TORCH", PYTORCH).startswith(PYTORCH), "the pages are of PyTorch " + PYTORCH
)
class Output(unittest.TestCase):
    def test_the_pages_show_what_the_tool_prints(self):
        expected = dict(blocks())
        self.maxDiff = None
        with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as folder:
            recordings = symptoms.Recordings(BUILD, folder)
            recordings.record_for(expected)
            for name, shown in expected.items():
                for _ in range(TRIES - 1):
                    if words(recordings.block(name)) != words(shown):
                        recordings.record_for([name])
                with self.subTest(block=name):
                    self.assertEqual(words(recordings.block(name)), words(shown))


if __name__ == "__main__":
    tap.main()
