# SPDX-License-Identifier: MIT
"""Exports for TensorBoard, read by its own reader and by its server: the scalars are the report's."""

import json
import os
import re
import struct
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

import viewers

viewers.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import exports  # noqa: E402
import tap  # noqa: E402
from tensorboard.backend.event_processing import event_accumulator  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402


def as_float(number):
    """Returns the number with the 24 binary digits that TensorBoard's floats have."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def steps_of(path):
    """Returns {tag: [number of each step]} of the table of steps, as floats."""
    statement = "select layer, device, peak_bytes, end_live_bytes from steps where series = 0 order by step"
    found = {}
    for row in json.loads(cli.run("sql", "--json", path, statement).stdout):
        device = exports.device_name(None if row["device"] < 0 else row["device"])
        found.setdefault(f"peak memory/{row['layer']}, {device}", []).append(as_float(row["peak_bytes"]))
        found.setdefault(f"live memory/{row['layer']}, {device}", []).append(as_float(row["end_live_bytes"]))
    return found


def folder_with(path, name, *options):
    folder = cli.place(name)
    os.mkdir(folder)
    viewers.write("tensorboard", path, os.path.join(name, "train.tfevents"), *options)
    return folder


def scalars(folder):
    """Returns {tag: [(step, number)]} as TensorBoard's reader finds them. It checks the sums of the records."""
    reader = event_accumulator.EventAccumulator(folder, size_guidance={"tensors": 0})
    reader.Reload()
    return {
        tag: [(one.step, float(tensor_util.make_ndarray(one.tensor_proto))) for one in reader.Tensors(tag)]
        for tag in reader.Tags()["tensors"]
    }


class TensorBoard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("tensorboard.gmt.gz")

    def test_scalars_of_steps_are_those_of_the_table_of_steps(self):
        found = scalars(folder_with(self.path, "steps"))
        self.assertEqual(found, {tag: list(enumerate(row)) for tag, row in steps_of(self.path).items()})
        self.assertEqual(len(found["peak memory/torch, GPU 0"]), 6)

    def test_a_layer_and_a_device_can_be_chosen(self):
        found = scalars(folder_with(self.path, "chosen", "--layer=torch", "--device=1"))
        self.assertEqual(set(found), {"peak memory/torch, GPU 1", "live memory/torch, GPU 1"})

    def test_without_steps_the_steps_are_milliseconds(self):
        path = cli.make("no-steps.gmt.gz", events=40, torch=0, devices=1)
        found = scalars(folder_with(path, "milliseconds"))
        for (layer, device), row in exports.accounts(path).items():
            values = found[f"live memory/{layer}, {exports.device_name(device)}"]
            self.assertEqual(values[-1][1], as_float(row["left_bytes"]))
            self.assertEqual([step for step, _ in values], sorted(step for step, _ in values))

    def test_the_server_gives_the_page_the_same_scalars(self):
        folder = folder_with(self.path, "server")
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=viewers.USERS
        ) as server:
            try:
                address = next(found[0] for line in server.stderr if (found := re.search(r"http://[^ ]+", line)))
                tag = "peak memory/torch, GPU 0"
                query = urllib.parse.urlencode({"tag": tag, "run": "."})
                answer = None
                for _attempt in range(200):
                    try:
                        with urllib.request.urlopen(f"{address}data/plugin/scalars/scalars?{query}") as data:
                            answer = json.load(data)
                        break
                    except urllib.error.HTTPError:
                        time.sleep(0.1)  # it is still reading the folder
            finally:
                server.kill()
        self.assertEqual([(step, value) for _time, step, value in answer], list(enumerate(steps_of(self.path)[tag])))


if __name__ == "__main__":
    tap.main()
