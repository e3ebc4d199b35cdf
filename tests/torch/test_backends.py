# SPDX-License-Identifier: MIT
"""Real PyTorch with each of its allocators: reports equal PyTorch's own numbers and the device's ledger."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap
from recorded_run import BUILD, CLI, SIM_PYTHON, RecordedRun, report, sim_python

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCRIPTS = os.path.join(HERE, "programs")
sys.path[:0] = [os.path.join(ROOT, "docs", "examples", "ledger"), os.path.join(ROOT, "tests", "viewers")]

import update_page as example  # noqa: E402  (found by the line above)
import snapshot_checks  # noqa: E402

MIB = 1 << 20
# The device also holds this memory, next to the program's own.
DEVICE = {"SIMCUDA_CONTEXT_MEMORY": "300M", "SIMCUDA_MODULE_MEMORY": "3M", "SIMCUDA_OTHERS_MEMORY": "500M"}
CONTEXT_BYTES, OTHERS_BYTES = 300 * MIB, 500 * MIB
# The driver counts blocks in these units. The recording has the sizes that the program requested.
UNIT_BYTES = 512
LIBRARY = "own_pool.so"
STAND_IN = os.path.join("site-packages", "cupy", "cuda", "memory.cpython-312-x86_64-linux-gnu.so")

EXPANDABLE = "expandable_segments:True"
ASYNC = "backend:cudaMallocAsync"
THRESHOLDS = "garbage_collection_threshold:0.6,max_split_size_mb:21,roundup_power2_divisions:4"


@functools.lru_cache(maxsize=None)
def library(name=LIBRARY):
    path = os.path.join(tempfile.mkdtemp(prefix="gpumemtrace-test."), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["cc", "-g", "-O1", "-fPIC", "-shared", "-o", path, os.path.join(SCRIPTS, "backends.c")], check=True)
    made.append(path.removesuffix(name))
    return path


made = []


def tearDownModule():
    for folder in made:
        shutil.rmtree(folder)


@functools.lru_cache(maxsize=None)
def record(way, *arguments, allocator="", devices="1", environment=()):
    """Returns the snapshot and the moments that the script prints, by name."""
    command, libraries = sim_python(os.path.join(SCRIPTS, "backends.py"), way, *arguments)
    variables = {**DEVICE, "SIMCUDA_DEVICES": devices, "PYTORCH_CUDA_ALLOC_CONF": allocator, **dict(environment)}
    run = RecordedRun(command, None, variables, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    moments = json.loads(run.out.splitlines()[-1])
    assert moments
    return max(run.files, key=os.path.getsize), {moment["name"]: moment for moment in moments}


@functools.lru_cache(maxsize=None)
def report_at(path, time_ns):
    return report(path, "--until", str(time_ns))


def of_device(rows, device):
    (row,) = [row for row in rows if row["device"] == device]
    return row


def layer_of(result, name, device=0):
    rows = [row for row in of_device(result["devices"], device)["layers"] if row["layer"] == name]
    return rows[0] if rows else None


def ledger(result, device=0):
    row = of_device(result["ledger"], device)
    lines = {line["name"]: line["bytes"] for line in row["lines"]}
    assert sum(lines.values()) == row["used_bytes"]
    return row, lines


def owners(result, device=0):
    """Returns the live bytes of layer cuda by owner."""
    found = {}
    for site in result["sites"]:
        if (site["layer"], site["device"]) == ("cuda", device) and site["live_bytes"]:
            found[site["owner"]] = found.get(site["owner"], 0) + site["live_bytes"]
    return found


class Moments(unittest.TestCase):
    def at_each(self, recorded, check):
        path, moments = recorded
        for name, moment in moments.items():
            result = report_at(path, moment["time_ns"])
            for device, printed in enumerate(moment["devices"]):
                # The script's query of a device may have been its first use, so the recording lacks the device.
                if device and device not in [row["device"] for row in result["ledger"]]:
                    continue
                with self.subTest(moment=name, device=device):
                    check(result, device, printed)

    def check_ledger(self, result, device, printed):
        """Checks that the ledger explains all memory that the driver reports as used. Returns its lines."""
        row, lines = ledger(result, device)
        self.assertEqual((row["used_bytes"], row["total_bytes"]), (printed["used"], printed["total"]))
        self.assertEqual(lines["unexplained"], 0)
        self.assertEqual(lines["other_processes"], OTHERS_BYTES)
        self.assertGreaterEqual(lines["contexts"], CONTEXT_BYTES)
        return lines


@unittest.skipUnless(SIM_PYTHON and shutil.which("cc"), "needs PyTorch on the simulated device and a C compiler")
class CachingAllocator(Moments):
    def check(self, result, device, printed):
        stats = printed["stats"]
        lines = self.check_ledger(result, device, printed)
        self.assertEqual(lines["torch_live"], stats.get("allocated_bytes.all.current", 0))
        self.assertEqual(lines["torch_live"] + lines["torch_cached"], stats.get("reserved_bytes.all.current", 0))
        self.assertEqual((lines["device"], lines["vmm"]), (0, 0))
        if stats.get("allocation.all.allocated"):
            self.check_stats(of_device(result["allocator"], device), stats)
            self.check_segments(result, device, printed)

    def check_stats(self, own, stats):
        self.assertTrue(own["knows_segments"])
        self.assertEqual(set(own["stats"]["reserved_bytes"]), {"all", "large_pool", "small_pool"})
        for row, pools in own["stats"].items():
            for pool, numbers in pools.items():
                for key, value in numbers.items():
                    self.assertEqual(value, stats[f"{row}.{pool}.{key}"], (row, pool, key))

    def check_segments(self, result, device, printed):
        (row,) = [row for row in result["segments"] if (row["device"], row["moment"]) == (device, "end")]
        self.assertEqual(row["segments"], len(printed["segments"]))
        self.assertEqual(row["reserved_bytes"], sum(size for size, _, _ in printed["segments"]))
        self.assertEqual(row["allocated_bytes"], sum(allocated for _, allocated, _ in printed["segments"]))
        self.assertEqual(row["reserved_bytes"], row["allocated_bytes"] + row["hole_bytes"] + row["empty_bytes"])
        self.assertEqual(row["driver_bytes"], row["reserved_bytes"])
        self.assertEqual((row["outside_bytes"], row["other_driver_memory"]), (0, []))

    def native(self):
        return record("all", devices="2")

    def expandable(self):
        return record("all", allocator=EXPANDABLE, devices="2")

    def test_the_native_allocator_is_exact_at_each_moment_with_graphs_and_pools_and_two_devices(self):
        self.at_each(self.native(), self.check)

    def test_expandable_segments_are_exact_at_each_moment_with_graphs_and_pools_and_two_devices(self):
        self.at_each(self.expandable(), self.check)
        for _, moments in (self.native(), self.expandable()):
            self.assertLessEqual(
                {
                    "trained",
                    "holes",
                    "emptied",
                    "captured",
                    "replayed",
                    "shared",
                    "one deleted",
                    "graphs deleted",
                    "pool",
                    "history",
                    "two devices",
                    "pinned",
                },
                set(moments),
            )
            for name in ("captured", "pool"):
                self.assertTrue(any(own for _, _, own in moments[name]["devices"][0]["segments"]), name)

    def test_a_threshold_for_collection_a_limit_of_splits_and_rounded_sizes_are_exact_at_each_moment(self):
        self.at_each(record("train", allocator=THRESHOLDS), self.check)

    def test_emptying_the_cache_gives_back_the_pages_of_expandable_segments_without_blocks(self):
        path, moments = self.expandable()
        before, after = (report_at(path, moments[name]["time_ns"]) for name in ("holes", "emptied"))
        (full,) = [row for row in before["segments"] if (row["device"], row["moment"]) == (0, "end")]
        given = of_device(after["allocator"], 0)["given_back"]
        self.assertGreater(full["empty_bytes"], 0)
        self.assertEqual(given["times"][-1]["bytes"], full["empty_bytes"])
        self.assertEqual(
            layer_of(before, "cuda")["live_bytes"] - layer_of(after, "cuda")["live_bytes"], full["empty_bytes"]
        )

    def test_an_exported_snapshot_has_pytorchs_segments_and_blocks_at_each_moment(self):
        for path, moments in (self.native(), self.expandable()):
            for name, moment in moments.items():
                out = path + ".pickle"
                words = ("export", "--format=torch", f"--at={moment['time_ns']}", "-o", out, path)
                done = subprocess.run([CLI, *words], capture_output=True, text=True)
                if "nothing was allocated" in done.stderr:
                    continue
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with open(out, "rb") as file:
                    found = snapshot_checks.read(file.read())
                for device, printed in enumerate(moment["devices"]):
                    with self.subTest(moment=name, device=device):
                        segments = [one for one in found["segments"] if one["device"] == device]
                        self.assertEqual(
                            sorted((one["total_size"], one["allocated_size"]) for one in segments),
                            sorted((size, allocated) for size, allocated, _ in printed["segments"]),
                        )

    def test_pinned_memory_of_pytorchs_host_cache_is_the_hosts(self):
        for path, moments in (self.native(), self.expandable()):
            for name in ("pinned", "pinned cached", "pinned emptied"):
                host, printed = report_at(path, moments[name]["time_ns"])["host"], moments[name]["host"]
                if not printed:
                    self.skipTest("this PyTorch has no statistics of its host cache")
                with self.subTest(moment=name):
                    self.assertEqual(host["live_bytes"], printed["allocated_bytes.current"])
                    self.assertEqual(host["peak_bytes"], printed["allocated_bytes.peak"])
                    self.assertEqual(
                        (host["alloc_count"], host["free_count"]), (printed["num_host_alloc"], printed["num_host_free"])
                    )
            self.assertGreater(
                moments["pinned cached"]["host"]["allocated_bytes.current"],
                moments["pinned cached"]["host"]["active_bytes.current"],
            )

    def test_a_refused_request_reports_the_largest_hole_of_expandable_segments(self):
        path, moments = record("refused", allocator=EXPANDABLE, environment=(("SIMCUDA_MEMORY", "3G"),))
        (last,) = [
            row
            for row in report_at(path, moments["refused"]["time_ns"])["ooms"]
            if row["requested_bytes"] == 500 * MIB and not row["recovered"]
        ]
        self.assertEqual(
            last["reserved_bytes"], moments["refused"]["devices"][0]["stats"]["reserved_bytes.all.current"]
        )
        self.assertGreater(moments["refused"]["hole"], 0)
        self.assertEqual(last["largest_hole_bytes"], moments["refused"]["hole"])
        lines = {line["name"]: line["bytes"] for line in last["ledger"]["lines"]}
        self.assertEqual(lines["torch_live"] + lines["torch_cached"], last["reserved_bytes"])
        self.assertEqual(lines["unexplained"], 0)


@unittest.skipUnless(SIM_PYTHON and shutil.which("cc"), "needs PyTorch on the simulated device and a C compiler")
class OtherAllocators(Moments):
    def check_pools(self, result, device, printed):
        lines, stats = self.check_ledger(result, device, printed), printed["stats"]
        pools, graphs = ([lines[kind + name] for name in ("used", "cached")] for kind in ("pool_", "graph_"))
        # PyTorch 2.6 counts only the memory of pools. PyTorch 2.15 also counts the memory of graphs.
        if stats["reserved_bytes.all.current"] == sum(pools):
            graphs = [0, 0]
        used = pools[0] + graphs[0]
        self.assertEqual(stats["reserved_bytes.all.current"], sum(pools) + sum(graphs))
        blocks = sum(space["live_blocks"] for space in layer_of(result, "cuda", device)["spaces"])
        self.assertLessEqual(used, stats["allocated_bytes.all.current"])
        self.assertLessEqual(stats["allocated_bytes.all.current"], used + blocks * (UNIT_BYTES - 1))
        self.assertEqual(lines["torch_live"] + lines["torch_cached"], 0)
        self.assertIsNone(layer_of(result, "torch", device))

    def test_blocks_pools_and_graphs_of_the_drivers_allocator_are_exact_at_each_moment(self):
        path, moments = record("async", allocator=ASYNC)
        self.at_each((path, moments), self.check_pools)
        # At these moments, graphs hold memory by their allocation nodes.
        for name in ("replayed", "shared", "one deleted"):
            _, lines = ledger(report_at(path, moments[name]["time_ns"]))
            self.assertGreater(lines["graph_used"], 10 * MIB)

    def test_memory_of_a_pluggable_allocator_is_its_librarys(self):
        def check(result, device, printed):
            lines = self.check_ledger(result, device, printed)
            self.assertEqual(lines["device"], layer_of(result, "cuda", device)["live_bytes"])
            self.assertEqual(lines["torch_live"] + lines["torch_cached"], 0)

        path, moments = record("pluggable", library())
        self.at_each((path, moments), check)
        result = report_at(path, moments["pluggable"]["time_ns"])
        self.assertEqual(owners(result), {LIBRARY: 3 * MIB + 2 * 4_000_000})
        self.assertEqual(owners(report_at(path, moments["pluggable freed"]["time_ns"])), {})

    def check_pool(self, result, device, printed):
        lines, stats = self.check_ledger(result, device, printed), printed["stats"]
        own = of_device(result["allocator"], device)
        reserved, private = (
            stats["reserved_bytes.all.current"],
            sum(size for size, _, own in printed["segments"] if own),
        )
        self.assertTrue(own["knows_segments"])
        for row in "allocated_bytes", "reserved_bytes", "inactive_split_bytes", "segment":
            for key, value in own["stats"][row]["all"].items():
                self.assertEqual(value, stats[f"{row}.all.{key}"], (row, key))
        held = owners(result).get(LIBRARY, 0)
        # Sleeping segments count as reserved, but take no device memory.
        self.assertIn(held, (private, 0))
        self.assertEqual(lines["torch_live"] + lines["torch_cached"] + lines["vmm"], reserved - private + held)
        if held == private and not lines["vmm"]:
            self.assertEqual(lines["torch_live"], stats["allocated_bytes.all.current"])

    def test_segments_of_a_pool_with_a_pluggable_allocator_are_its_librarys_and_exact(self):
        path, moments = record("pluggable-pool", library())
        self.at_each((path, moments), self.check_pool)
        for name in "pluggable pool", "awake", "awake again":
            self.assertGreater(owners(report_at(path, moments[name]["time_ns"]))[LIBRARY], 30 * MIB)

    def test_sleeping_segments_take_no_device_memory_but_stay_reserved(self):
        path, moments = record("pluggable-pool", library())
        result, printed = report_at(path, moments["asleep"]["time_ns"]), moments["asleep"]["devices"][0]
        awake = moments["awake"]["devices"][0]
        self.assertEqual(owners(result), {})
        self.assertEqual(printed["stats"]["reserved_bytes.all.current"], awake["stats"]["reserved_bytes.all.current"])
        self.assertEqual(awake["used"] - printed["used"], awake["stats"]["reserved_bytes.all.current"])
        # PyTorch did not request the memory that wakes up, so the ledger counts it as vmm.
        again = ledger(report_at(path, moments["awake again"]["time_ns"]))[1]
        self.assertEqual((again["vmm"], again["torch_live"]), (awake["stats"]["reserved_bytes.all.current"], 0))
        self.assertEqual(ledger(report_at(path, moments["awake"]["time_ns"]))[1]["vmm"], 0)

    def test_without_a_cache_all_memory_of_pytorch_is_in_use(self):
        def check(result, device, printed):
            lines = self.check_ledger(result, device, printed)
            self.assertEqual(lines["torch_live"], layer_of(result, "cuda", device)["live_bytes"])
            self.assertEqual(lines["torch_cached"], 0)
            self.assertEqual(printed["stats"].get("allocated_bytes.all.current", 0), 0)

        path, moments = record("train", environment=(("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"),))
        self.at_each((path, moments), check)
        self.assertGreater(ledger(report_at(path, moments["holes"]["time_ns"]))[1]["torch_live"], 290 * MIB)

    def test_other_libraries_next_to_pytorch_own_their_memory(self):
        def check(result, device, printed):
            lines, reserved = self.check_ledger(result, device, printed), printed["stats"]["reserved_bytes.all.current"]
            self.assertEqual(lines["device"], 20 * MIB)
            self.assertEqual(lines["torch_live"] + lines["torch_cached"], reserved)
            self.assertEqual(
                {"PyTorch": 0, **owners(result)}, {"PyTorch": reserved, LIBRARY: 10 * MIB, "CuPy": 10 * MIB}
            )
            (row,) = [row for row in result["segments"] if row["moment"] == "end"]
            self.assertEqual(
                sorted((other["owner"], other["bytes"]) for other in row["other_driver_memory"]),
                [("CuPy", 10 * MIB), (LIBRARY, 10 * MIB)],
            )

        self.at_each(record("side_by_side", library(), library(STAND_IN)), check)


PYTORCH = "2.15"


@unittest.skipUnless(SIM_PYTHON and shutil.which("cc"), "needs PyTorch on the simulated device and a C compiler")
@unittest.skipUnless(
    os.environ.get("GPUMEMTRACE_TORCH", PYTORCH).startswith(PYTORCH), "the page is of PyTorch " + PYTORCH
)
class Page(unittest.TestCase):
    def test_docs_ledger_shows_the_output_for_a_run_with_other_libraries(self):
        (found,) = example.symptoms.BLOCK.finditer(example.PAGE.read_text(encoding="utf-8"))
        self.assertEqual(found["text"], example.block(BUILD))


if __name__ == "__main__":
    tap.main()
