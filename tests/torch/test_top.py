# SPDX-License-Identifier: MIT
"""`gpumemtrace top` beside real PyTorch: the numbers of torch.cuda, steps, lines of code, scalars for TensorBoard."""

import glob
import json
import os
import struct
import subprocess
import tempfile
import unittest

import tap
import tasks
from recorded_run import CLI, SIM_PYTHON

BUILD = os.environ["GMT_TEST_BUILD"]
STEPS = 12
# The program answers each line of its standard input with what PyTorch says, after a step.
PROGRAM = """
import json, sys, torch
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(3)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
kept = []
for line in sys.stdin:
    model(torch.randn(32, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.empty(1 << 18, device="cuda"))
    print(json.dumps([torch.cuda.memory_allocated(), torch.cuda.memory_reserved(),
                      torch.cuda.max_memory_allocated()]), flush=True)
"""


def scalars(path):
    """Returns [step, number of bytes of the record] of each event, after a check of all lengths."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        record = data[at + 12 : at + 12 + length]
        assert len(record) == length
        found.append(record)
        at += length + 16
    assert at == len(data)
    return found


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Top(unittest.TestCase):
    def test_a_training_is_shown_with_the_numbers_of_pytorch(self):
        with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as folder:
            path = os.path.join(folder, "training.gmt.gz")
            program = os.path.join(folder, "program.py")
            with open(program, "w") as file:
                file.write(PROGRAM)
            environment = {**os.environ, "GPUMEMTRACE_OPTIONS": f"output='{path}'"}
            process = subprocess.Popen(
                [CLI, "run", "-o", path, "--", SIM_PYTHON, BUILD, program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )

            def step():
                process.stdin.write("step\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            for _ in range(STEPS):
                said = step()

            def look():
                done = subprocess.run([CLI, "top", "--json", path], capture_output=True, text=True, check=False)
                (row,) = json.loads(done.stdout)["processes"] if done.returncode == 0 else [{}]
                if (row.get("steps") or {}).get("count") != STEPS:
                    return None
                # Marks are shown at once, events half a second later.
                allocated = [device["allocated_bytes"] for device in row["devices"] if device["device"] == 0]
                return [row] if allocated == said[:1] else None

            row = tasks.wait_until(look, "the last step in top")[0]
            (gpu,) = [device for device in row["devices"] if device["device"] == 0]
            self.assertEqual([gpu["allocated_bytes"], gpu["reserved_bytes"], gpu["allocated_peak_bytes"]], said)
            self.assertEqual((row["steps"]["source"], row["steps"]["name"]), ("optimizer", "AdamW"))
            kept = next(line for line in row["lines"] if line["line"] == 10)
            self.assertEqual((kept["live_bytes"], kept["live_blocks"]), (STEPS << 20, STEPS))
            self.assertTrue(kept["file"].endswith("program.py"))
            # PyTorch's segments are no line of their own: their memory is in its blocks.
            self.assertEqual({line["layer"] for line in row["lines"]}, {"torch"})

            runs = os.path.join(folder, "runs")
            os.mkdir(runs)
            watcher = subprocess.Popen([CLI, "top", f"--tensorboard={runs}", "--interval=100ms", path])
            events = os.path.join(runs, "events.out.tfevents.*")
            tasks.wait_until(lambda: glob.glob(events), "the file of events")
            step()
            process.stdin.close()
            self.assertEqual(process.wait(tasks.WAIT_LIMIT_S), 0)
            self.assertEqual(watcher.wait(tasks.WAIT_LIMIT_S), 0)
            (written,) = glob.glob(events)
            records = scalars(written)
            self.assertIn(b"brain.Event:2", records[0])
            self.assertIn(b"live memory/torch, GPU 0", records[1])
            # One event at the step at which it began, one for the step after it.
            self.assertEqual(len(records), 3)


if __name__ == "__main__":
    tap.main()
