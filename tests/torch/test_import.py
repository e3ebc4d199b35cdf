# SPDX-License-Identifier: MIT
"""Memory snapshots that real PyTorch writes: the imported recording has the numbers that PyTorch counted, and its lines."""

import json
import os
import subprocess
import tempfile
import unittest

import tap
from recorded_run import SIM_PYTHON, cli, report, sim_python
from test_exact import SCRIPTS


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Import(unittest.TestCase):
    def imported(self, **environment):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        snapshot, recording = (os.path.join(folder.name, name) for name in ("snapshot.pickle", "snapshot.gmt.gz"))
        command, libraries = sim_python(os.path.join(SCRIPTS, "memory_history.py"), snapshot)
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "LD_LIBRARY_PATH": libraries, **environment},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        imported = cli("import", "-o", recording, snapshot)
        self.assertEqual((imported.returncode, imported.stderr), (0, ""))
        return recording, json.loads(done.stdout.splitlines()[-1])

    def check(self, recording, counted):
        result = report(recording)
        (device,) = result["devices"]
        layers = {layer["layer"]: layer for layer in device["layers"]}
        torch, cuda = layers["torch"], layers["cuda"]
        self.assertEqual(torch["peak_bytes"], counted["allocated_bytes.all.peak"])
        self.assertEqual(torch["live_bytes"], counted["allocated_bytes.all.current"])
        self.assertEqual(torch["alloc_count"], counted["allocation.all.allocated"])
        self.assertEqual(torch["free_count"], counted["allocation.all.freed"])
        self.assertEqual(torch["reported"]["reserved_bytes"], counted["reserved_bytes.all.current"])
        self.assertEqual(torch["reported"]["reserved_peak_bytes"], counted["reserved_bytes.all.peak"])
        self.assertEqual(cuda["live_bytes"], counted["reserved_bytes.all.current"])
        self.assertEqual(cuda["peak_bytes"], counted["reserved_bytes.all.peak"])
        self.assertEqual(torch["reported"]["disagreements"], 0)
        self.assertFalse(any(result["anomalies"].values()), result["anomalies"])
        self.assertFalse([note for note in result["remarks"] if "missing" in note])
        return result

    def check_lines(self, result):
        """The lines that hold memory are those of the program, and native frames have libraries."""
        sites = [site for site in result["sites"] if site["layer"] == "torch" and site["stack"]]
        own = {site["stack"][site["own_frame"]]["function"] for site in sites}
        self.assertEqual(own, {"take"})
        frames = [frame for site in sites for frame in site["stack"]]
        self.assertTrue({"step", "<listcomp>", "build"} & {frame["function"] for frame in frames})
        self.assertTrue(any("libtorch" in (frame["module"] or "") for frame in frames if frame["kind"] == "native"))
        self.assertFalse([frame for frame in frames if frame["kind"] == "native" and frame["line"]])
        self.assertFalse([frame for frame in frames if "unwind::unwind" in frame["function"]])

    def test_segments(self):
        result = self.check(*self.imported())
        self.check_lines(result)
        (oom,) = result["ooms"]
        self.assertEqual(oom["requested_bytes"], 1 << 45)
        self.assertTrue(oom["free_bytes"])
        # Before the history: one block that still lives, and one that was freed.
        self.assertTrue(
            any(note.startswith("10.0 MiB in 2 blocks were allocated before") for note in result["remarks"])
        )

    def test_expandable_segments(self):
        self.check(*self.imported(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"))


if __name__ == "__main__":
    tap.main()
