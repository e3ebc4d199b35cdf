# SPDX-License-Identifier: MIT
"""The allocator's state in a report of real PyTorch agrees with PyTorch's own numbers."""

import functools
import json
import os
import re
import unittest

import tap
from recorded_run import SIM_PYTHON, RecordedRun, cli, report, sim_python

HERE = os.path.dirname(os.path.abspath(__file__))


@functools.lru_cache(maxsize=None)
def record(script, *arguments, devices="1", memory=None):
    """Returns a script's recording, the state that it printed at its quiet moment, and the report of that moment."""
    command, libraries = sim_python(
        os.path.join(HERE, "allocator_state", "with_stats.py"), os.path.join(HERE, script), *arguments
    )
    environment = {"SIMCUDA_DEVICES": devices, **({"SIMCUDA_MEMORY": memory} if memory else {})}
    run = RecordedRun(command, None, environment, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    counted = json.loads(run.out.splitlines()[-1])
    path = max(run.files, key=os.path.getsize)
    return path, counted, report(path, "--until", str(counted["time_ns"]))


def of_device(rows, device=0):
    (row,) = [row for row in rows if row["device"] == device]
    return row


def segments_at(result, moment, device=0):
    (row,) = [row for row in result["segments"] if (row["device"], row["moment"]) == (device, moment)]
    return row


def lines(rows, script):
    return {
        row["frame"]["function"]: row for row in rows if row["frame"] and (row["frame"]["file"] or "").endswith(script)
    }


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Statistics(unittest.TestCase):
    ROWS = {"allocated_bytes", "reserved_bytes", "inactive_split_bytes", "allocation", "segment", "inactive_split"}

    def check(self, script, *arguments, rows=ROWS, **settings):
        _, counted, result = record(script, *arguments, **settings)
        for device, stats in enumerate(counted["stats"]):
            if not stats["allocation.all.allocated"]:
                continue
            own = of_device(result["allocator"], device)
            self.assertEqual(set(own["stats"]), rows)
            for row, pools in own["stats"].items():
                for pool, numbers in pools.items():
                    for key, value in numbers.items():
                        self.assertEqual(value, stats[f"{row}.{pool}.{key}"], (row, pool, key))
        return own

    def test_memory_stats_of_a_convnet_are_pytorchs_in_each_pool(self):
        own = self.check("programs/convnet.py")
        self.assertEqual(set(own["stats"]["segment"]), {"all", "large_pool", "small_pool"})

    def test_sizes_are_those_of_blocks_and_not_those_that_were_asked_for(self):
        _, counted, result = record("allocator_state/pools.py")
        (layer,) = [layer for layer in of_device(result["devices"])["layers"] if layer["layer"] == "torch"]
        self.assertEqual(layer["total_alloc_bytes"], counted["stats"][0]["allocated_bytes.all.allocated"])
        self.assertGreater(layer["total_alloc_bytes"], counted["stats"][0]["requested_bytes.all.allocated"])

    def test_memory_stats_of_a_transformer_are_pytorchs(self):
        self.check("programs/transformer_loop.py", "5")

    def test_memory_stats_of_two_devices_are_pytorchs(self):
        self.check("programs/two_devices.py", devices="2")

    def test_memory_stats_of_several_threads_are_pytorchs(self):
        self.check("programs/threads.py")

    def test_memory_stats_of_fragmented_segments_are_pytorchs(self):
        own = self.check("allocator_state/fragmented.py")
        self.assertGreater(own["stats"]["inactive_split"]["all"]["current"], 100)

    def test_memory_stats_around_the_border_of_the_pools_are_pytorchs(self):
        own = self.check("allocator_state/pools.py")
        self.assertGreater(own["stats"]["allocation"]["small_pool"]["allocated"], 500)
        self.assertGreater(own["stats"]["allocation"]["large_pool"]["allocated"], 300)

    def test_memory_stats_of_a_program_that_empties_the_cache_are_pytorchs(self):
        self.check("allocator_state/emptied.py")

    def test_memory_stats_of_captured_graphs_are_pytorchs(self):
        self.check("programs/graph_replay.py")

    def test_memory_stats_with_expandable_segments_are_pytorchs_in_each_pool(self):
        own = self.check("programs/expandable.py")
        self.assertTrue(own["knows_segments"])
        self.assertEqual(own["stats"]["segment"]["all"]["allocated"], 0)
        self.assertGreater(own["stats"]["reserved_bytes"]["small_pool"]["peak"], 0)

    def test_the_table_in_text_has_the_rows_of_memory_summary(self):
        path, counted, _ = record("allocator_state/pools.py")
        text = cli("report", "--section", "allocator", "--until", str(counted["time_ns"]), path).stdout
        (line,) = [line for line in text.splitlines() if line.startswith("  GPU reserved segments")]
        stats = counted["stats"][0]
        self.assertEqual(
            [int(word.replace(",", "")) for word in line.split()[3:]],
            [stats[f"segment.all.{key}"] for key in ("current", "peak", "allocated", "freed")],
        )


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Segments(unittest.TestCase):
    def check(self, script, *arguments):
        _, counted, result = record(script, *arguments)
        stats, row = counted["stats"][0], segments_at(result, "end")
        self.assertEqual(row["reserved_bytes"], stats["reserved_bytes.all.current"])
        self.assertEqual(row["segments"], stats["segment.all.current"])
        self.assertEqual(row["allocated_bytes"], stats["allocated_bytes.all.current"])
        self.assertEqual(row["hole_bytes"], stats["inactive_split_bytes.all.current"])
        self.assertEqual(sum(hole["holes"] for hole in row["holes"]), stats["inactive_split.all.current"])
        self.assertEqual(sum(hole["bytes"] for hole in row["holes"]), row["hole_bytes"])
        self.assertEqual(row["reserved_bytes"], row["allocated_bytes"] + row["hole_bytes"] + row["empty_bytes"])
        self.assertEqual(
            row["driver_bytes"], row["reserved_bytes"] + sum(other["bytes"] for other in row["other_driver_memory"])
        )
        return result, row

    def test_segments_blocks_and_holes_sum_to_what_pytorch_reserved(self):
        for script in (
            "programs/convnet.py",
            "allocator_state/fragmented.py",
            "allocator_state/pools.py",
            "allocator_state/emptied.py",
        ):
            with self.subTest(script=script):
                self.check(script)

    def test_freeing_every_second_of_many_sizes_is_reported_as_fragmentation(self):
        result, row = self.check("allocator_state/fragmented.py")
        self.assertTrue(row["above_ratio"])
        self.assertFalse(segments_at(result, "peak")["above_ratio"])
        self.assertGreater(row["hole_bytes"], row["empty_bytes"])

    def test_segments_held_by_small_blocks_are_reported_with_their_lines(self):
        _, row = self.check("allocator_state/pinned.py")
        self.assertEqual(row["sparse_segments"], 6)
        self.assertEqual(row["sparse_bytes"], 6 * 20 << 20)
        (pin,) = row["sparse_by"]
        self.assertEqual(pin["frame"]["function"], "keep")
        self.assertEqual((pin["segments"], pin["block_bytes"]), (6, 6 * 3 << 19))

    def test_empty_cache_is_reported_with_freed_and_reallocated_bytes(self):
        _, counted, result = record("allocator_state/emptied.py")
        given = of_device(result["allocator"])["given_back"]
        self.assertEqual([row["bytes"] for row in given["times"]], counted["given_back"])
        self.assertEqual(given["bytes"], sum(counted["given_back"]))
        self.assertEqual([row["again_bytes"] for row in given["times"]], [*counted["given_back"][:-1], 0])
        self.assertFalse(any(row["after_refusal"] for row in given["times"]))

    def test_a_program_that_never_empties_the_cache_frees_no_segment(self):
        _, _, result = record("programs/convnet.py")
        self.assertEqual(of_device(result["allocator"])["given_back"]["count"], 0)

    def test_the_end_is_that_of_the_work_and_not_of_the_process(self):
        path, counted, _ = record("allocator_state/pinned.py")
        row = segments_at(report(path), "end")
        self.assertEqual(row["allocated_bytes"], counted["stats"][0]["allocated_bytes.all.current"])


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Tables(unittest.TestCase):
    def test_the_composition_of_a_peak_adds_up_to_the_byte(self):
        for script, arguments in (
            ("programs/convnet.py", ()),
            ("programs/transformer_loop.py", ("5",)),
            ("allocator_state/pools.py", ()),
            ("programs/pinned_loader.py", ()),
        ):
            _, _, result = record(script, *arguments)
            self.assertTrue(result["peaks"])
            for peak in result["peaks"]:
                for key in ("by_owner", "by_category", "by_part", "by_phase", "by_step"):
                    with self.subTest(script=script, layer=peak["layer"], key=key):
                        self.assertEqual(sum(row["bytes"] for row in peak[key]), peak["peak_bytes"])
                        self.assertEqual(sum(row["blocks"] for row in peak[key]), peak["peak_blocks"])

    def test_a_convnets_peak_is_its_activations_of_that_step(self):
        _, _, result = record("programs/convnet.py")
        (peak,) = [row for row in result["peaks"] if row["layer"] == "torch"]
        self.assertEqual(peak["by_category"][0]["name"], "activations")
        self.assertEqual(peak["by_part"][0]["name"], "forward")
        self.assertGreater(peak["by_step"][0]["bytes"], 0.9 * peak["peak_bytes"])
        self.assertEqual(peak["by_step"][0]["series"], "optimizer")

    def test_tables_sum_to_the_peak_the_live_bytes_and_the_total_of_their_layer(self):
        path, counted, result = record("programs/convnet.py")
        layers = {layer["layer"]: layer for layer in of_device(result["devices"])["layers"]}
        keys = re.search(r"--by=(\S+)", cli("help", "report").stdout)[1].split("|")
        self.assertIn("step", keys)
        for by in keys:
            (table,) = report(path, "--until", str(counted["time_ns"]), "--by", by)["tables"]
            self.assertEqual(table["by"], by)
            for name, layer in layers.items():
                rows = [row for row in table["rows"] if row["layer"] == name]
                for key, whole in (
                    ("peak_bytes", "peak_bytes"),
                    ("live_bytes", "live_bytes"),
                    ("total_bytes", "total_alloc_bytes"),
                    ("allocs", "alloc_count"),
                    ("peak_blocks", "peak_blocks"),
                    ("live_blocks", "live_blocks"),
                ):
                    self.assertEqual(sum(row[key] for row in rows), layer[whole], (by, name, key))

    def test_operators_and_modules_have_the_names_that_their_user_knows(self):
        path, _, _ = record("programs/convnet.py")
        rows = {
            by: {row["name"]: row for row in report(path, "--by", by)["tables"][0]["rows"] if row["layer"] == "torch"}
            for by in ("operator", "module", "library")
        }
        self.assertLessEqual({"aten::conv2d", "aten::relu", "aten::mm"}, set(rows["operator"]))
        self.assertLessEqual({"Sequential > Conv2d", "Sequential > ReLU"}, set(rows["module"]))
        self.assertEqual(
            rows["operator"]["aten::relu"]["total_bytes"], rows["module"]["Sequential > ReLU"]["total_bytes"]
        )
        self.assertIn("libtorch_cuda.so", rows["library"])

    def test_sort_orders_a_table_and_limit_cuts_it(self):
        path, _, _ = record("programs/convnet.py")
        (table,) = report(path, "--by", "operator", "--sort", "total", "--limit", "4")["tables"]
        totals = [row["total_bytes"] for row in table["rows"] if row["layer"] == "torch"]
        self.assertEqual(len(table["rows"]), 4)
        self.assertEqual(totals, sorted(totals, reverse=True))
        text = cli("report", "--by", "operator", "--limit", "2", path).stdout
        self.assertIn("torch on GPU 0 by operator, sorted by peak", text)
        self.assertNotIn("held by", text)


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Temporaries(unittest.TestCase):
    def test_the_result_of_a_broadcast_is_a_short_lived_allocation_at_its_line(self):
        path, _, result = record("allocator_state/large_broadcast_result.py")
        largest = max(result["temporaries"]["short_lived"], key=lambda row: row["largest_bytes"])
        source = (
            open(os.path.join(HERE, "allocator_state", "large_broadcast_result.py"), encoding="utf-8")
            .read()
            .splitlines()
        )
        expected = [number for number, line in enumerate(source, 1) if "points[:, None, :]" in line]
        rows = {row["frame"]["line"]: row for row in result["temporaries"]["short_lived"] if row["layer"] == "torch"}
        self.assertIn(expected[0], rows, largest)
        row = rows[expected[0]]
        self.assertEqual((row["count"], row["largest_bytes"]), (4, 1024 * 1024 * 16 * 4))
        self.assertEqual(row["at_peak_bytes"], row["largest_bytes"])
        self.assertIn("in distances", cli("report", "--full", path).stdout.split("Large short-lived blocks")[1][:600])

    def test_memory_freed_in_its_step_is_counted_at_its_line(self):
        _, _, result = record("allocator_state/emptied.py")
        rows = {row["frame"]["line"]: row for row in result["temporaries"]["in_step"] if row["frame"]}
        source = open(os.path.join(HERE, "allocator_state", "emptied.py"), encoding="utf-8").read().splitlines()
        (scratch,) = [number for number, line in enumerate(source, 1) if "scratch = " in line]
        self.assertEqual(result["temporaries"]["not_known"], None)
        self.assertEqual(rows[scratch]["largest_bytes"], 32 << 20)

    def test_without_steps_the_reason_is_reported(self):
        path, _, result = record("allocator_state/pinned.py")
        self.assertTrue(result["temporaries"]["not_known"])
        self.assertEqual(result["temporaries"]["in_step"], [])
        self.assertIn("not known: ", cli("report", "--section", "temporaries", path).stdout)


if __name__ == "__main__":
    tap.main()
