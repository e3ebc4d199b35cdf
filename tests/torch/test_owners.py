# SPDX-License-Identifier: MIT
"""In real PyTorch, PyTorch owns its memory, and an extension owns the memory that it allocates itself."""

import functools
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap
from recorded_run import SIM_PYTHON, RecordedRun, report, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
MIB = 1 << 20
EXTENSION = "fused_ops.so"


@functools.lru_cache(maxsize=None)
def extension():
    folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
    path = os.path.join(folder, EXTENSION)
    subprocess.run(["cc", "-g", "-O1", "-fPIC", "-shared", "-o", path, os.path.join(SCRIPTS, "owners.c")], check=True)
    return path


def tearDownModule():
    if extension.cache_info().currsize:
        shutil.rmtree(os.path.dirname(extension()))


@functools.lru_cache(maxsize=None)
def record(stacks="all", allocator=""):
    command, libraries = sim_python(os.path.join(SCRIPTS, "owners.py"), extension())
    run = RecordedRun(command, {"stacks": stacks}, {"PYTORCH_CUDA_ALLOC_CONF": allocator}, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    path = max(run.files, key=os.path.getsize)
    return path, json.loads(run.out.splitlines()[-1]), report(path)


def owners(result, layer, device=0):
    """Returns the bytes of all allocations by owner."""
    found = {}
    for site in result["sites"]:
        if (site["layer"], site["device"]) == (layer, device):
            found[site["owner"]] = found.get(site["owner"], 0) + site["total_bytes"]
    return found


def total(result, layer):
    (device,) = result["devices"]
    (row,) = [row for row in device["layers"] if row["layer"] == layer]
    return row["total_alloc_bytes"]


@unittest.skipUnless(SIM_PYTHON and shutil.which("cc"), "needs PyTorch on the simulated device and a C compiler")
class Owners(unittest.TestCase):
    def test_pytorch_owns_its_blocks_except_the_tensor_of_the_extension(self):
        _, _, result = record()
        self.assertEqual(owners(result, "torch"), {EXTENSION: 5 * MIB, "PyTorch": total(result, "torch") - 5 * MIB})

    def test_segments_are_pytorchs_and_the_extensions_own_memory_is_the_extensions(self):
        _, printed, result = record()
        shown = owners(result, "cuda")
        self.assertEqual(shown[EXTENSION], 3 * MIB)
        # PyTorch also owns the segment that contains the extension's tensor.
        self.assertGreaterEqual(shown["PyTorch"], printed["devices"][0]["memory_reserved"])
        self.assertNotIn("unknown", shown)
        self.assertNotIn("program", shown)
        self.assertEqual(sum(shown.values()), total(result, "cuda"))

    def test_pinned_memory_of_pytorchs_cache_is_pytorchs(self):
        _, printed, result = record()
        self.assertEqual(set(owners(result, "cuda", None)), {"PyTorch"})
        self.assertGreaterEqual(owners(result, "cuda", None)["PyTorch"], printed["pinned_bytes"])

    def test_the_table_has_the_bytes_of_each_owner_at_the_peak_of_the_layer(self):
        path, _, result = record()
        (table,) = report(path, "--by", "owner")["tables"]
        rows = {(row["layer"], row["name"]): row for row in table["rows"] if row["device"] == 0}
        self.assertEqual(rows["cuda", EXTENSION]["live_bytes"], 3 * MIB)
        self.assertEqual(rows["cuda", EXTENSION]["max_live_bytes"], 3 * MIB)
        self.assertEqual(rows["torch", EXTENSION]["live_bytes"], 5 * MIB)
        for layer in result["devices"][0]["layers"]:
            held = [row["peak_bytes"] for (name, _), row in rows.items() if name == layer["layer"]]
            self.assertEqual(sum(held), layer["peak_bytes"])

    def test_with_python_stacks_alone_segments_are_still_pytorchs(self):
        for allocator in "", "expandable_segments:True":
            with self.subTest(allocator=allocator):
                _, printed, result = record("python", allocator)
                self.assertEqual(owners(result, "torch"), {"PyTorch": total(result, "torch")})
                shown = owners(result, "cuda")
                self.assertGreaterEqual(shown["PyTorch"], printed["devices"][0]["memory_reserved"])
                # Python stacks do not show the extension. The program owns the line that called it.
                self.assertGreaterEqual(shown["program"], 3 * MIB)

    def test_expandable_segments_are_pytorchs(self):
        _, printed, result = record("all", "expandable_segments:True")
        shown = owners(result, "cuda")
        self.assertGreaterEqual(shown["PyTorch"], printed["devices"][0]["memory_reserved"])
        self.assertEqual(shown[EXTENSION], 3 * MIB)


if __name__ == "__main__":
    tap.main()
