# SPDX-License-Identifier: MIT
"""Tables as Arrow: valid for pyarrow, pandas, polars and DuckDB; equal to `report --json`; filtered in either place."""

import collections
import datetime
import os
import subprocess
import sys
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import duckdb  # noqa: E402
import heap_story  # noqa: E402
import pandas  # noqa: E402
import polars  # noqa: E402
import pyarrow  # noqa: E402
import tap  # noqa: E402

import gpumemtrace  # noqa: E402

# Columns that hold the moment and the step by which a table's filters select.
TIMES = {"events": "time_ns", "blocks": "made_time_ns", "curve": "time_ns", "steps": "begin_time_ns"}
TIMES["phases"] = "begin_time_ns"
STEPS = {"events": "step", "blocks": "made_step", "curve": "step", "steps": "step"}
HOST = -1


def rows(table):
    return table.to_pyarrow().to_pylist()


def device_of(raw):
    return HOST if raw["device"] is None else raw["device"]


def accounts_of(report):
    """Yields (layer, device) and the totals of `report --json`."""
    for device in report["devices"]:
        for layer in device["layers"]:
            yield (layer["layer"], device["device"]), layer
    yield ("cuda", HOST), report["host"]


class Conservation(unittest.TestCase):
    """Each number of a report, computed from tables."""

    @classmethod
    def setUpClass(cls):
        cls.path = stories.training("training.gmt.gz")
        cls.open_it()

    @classmethod
    def open_it(cls):
        cls.report = cli.report(cls.path)
        cls.recording = gpumemtrace.open(cls.path)
        cls.addClassCleanup(cls.recording.close)

    def table(self, name, **filters):
        return rows(self.recording.table(name, **filters))

    def test_events_are_counted_as_in_the_report(self):
        events = self.table("events")
        (process,) = self.table("process")
        self.assertEqual(len(events), self.report["events"]["replayed"])
        self.assertEqual(len(events), process["events"])
        self.assertEqual([event["event"] for event in events], list(range(len(events))))
        times = [event["time_ns"] for event in events]
        self.assertEqual(times, sorted(times))

    def test_blocks_sum_to_the_allocations_of_each_account(self):
        made, sizes, freed = collections.Counter(), collections.Counter(), collections.Counter()
        for block in self.table("blocks"):
            account = block["layer"], block["device"]
            made[account] += 1
            sizes[account] += block["size_bytes"]
            freed[account] += block["freed_time_ns"] is not None
        for account, totals in accounts_of(self.report):
            with self.subTest(account=account):
                self.assertEqual(made[account], totals["alloc_count"])
                self.assertEqual(sizes[account], totals["total_alloc_bytes"])
                self.assertEqual(made[account] - freed[account], totals["left_blocks"])

    def test_blocks_without_an_end_are_what_is_left(self):
        left = collections.Counter()
        for block in self.table("blocks"):
            if block["freed_time_ns"] is None:
                left[block["layer"], block["device"]] += block["size_bytes"]
        for account, totals in accounts_of(self.report):
            self.assertEqual(left[account], totals["left_bytes"], account)

    def test_blocks_that_lived_at_the_peak_sum_to_the_peak(self):
        for account, totals in accounts_of(self.report):
            now = totals["peak_time_ns"]
            held = [
                block["size_bytes"]
                for block in self.table("blocks", layer=account[0], device=account[1])
                if block["made_time_ns"] <= now and not (block["freed_time_ns"] or now + 1) <= now
            ]
            with self.subTest(account=account):
                self.assertEqual((sum(held), len(held)), (totals["peak_bytes"], totals["peak_blocks"]))

    def test_the_curve_reaches_the_peak_and_ends_with_what_is_left(self):
        for account, totals in accounts_of(self.report):
            curve = self.table("curve", layer=account[0], device=account[1])
            with self.subTest(account=account):
                self.assertEqual(max((row["live_bytes"] for row in curve), default=0), totals["peak_bytes"])
                if curve:
                    self.assertEqual(curve[-1]["live_bytes"], totals["left_bytes"])

    def test_sites_and_their_stacks_are_those_of_the_report(self):
        stacks = collections.defaultdict(list)
        for frame in self.table("frames"):
            self.assertEqual(frame["depth"], len(stacks[frame["stack_id"]]))
            stacks[frame["stack_id"]].append(
                {
                    "kind": frame["kind"],
                    "function": frame["function"],
                    "file": frame["file"],
                    "line": frame["line_number"],
                    "module": frame["library"],
                }
            )
        names = "layer space peak_bytes peak_blocks live_bytes live_blocks left_bytes max_live_bytes".split()
        names += "total_bytes allocs frees category owner thread".split()
        found = sorted(
            repr(([site[name] for name in names], site["device"], stacks.get(site["stack_id"], [])))
            for site in self.table("sites")
        )
        expected = sorted(
            repr(([site[name] for name in names], device_of(site), site["stack"])) for site in self.report["sites"]
        )
        self.assertEqual(found, expected)

    def test_each_block_has_the_line_of_its_site_and_its_stack(self):
        sites = {site["site_id"]: site for site in self.table("sites")}
        stacks = {stack["stack_id"]: stack for stack in self.table("stacks")}
        for block in self.table("blocks"):
            for name in "layer space device stack_id line function operator module owner category heap".split():
                self.assertEqual(block[name], sites[block["site_id"]][name], name)
            if block["stack_id"] is not None:
                self.assertEqual(block["line"], stacks[block["stack_id"]]["line"] or None)

    def test_blocks_of_a_site_sum_to_the_site(self):
        count, sizes = collections.Counter(), collections.Counter()
        for block in self.table("blocks"):
            count[block["site_id"]] += 1
            sizes[block["site_id"]] += block["size_bytes"]
        for site in self.table("sites"):
            self.assertEqual(
                (count[site["site_id"]], sizes[site["site_id"]]), (site["allocs"], site["total_bytes"]), site
            )

    def test_steps_are_those_of_the_report(self):
        found = [
            (row["step"], row["source"], row["begin_time_ns"], row["end_time_ns"], row["layer"], row["device"])
            + (row["peak_bytes"], row["end_live_bytes"])
            for row in self.table("steps")
        ]
        expected = [
            (step["index"], step["source"], step["begin_ns"], step["end_ns"], one["layer"], device_of(one))
            + (one["peak_bytes"], one["end_live_bytes"])
            for step in self.report["steps"]
            for one in step["devices"]
        ]
        self.assertEqual(sorted(found), sorted(expected))

    def test_phases_are_those_of_the_report(self):
        found = [(row["name"], row["begin_time_ns"], row["source"], row["depth"]) for row in self.table("phases")]
        expected = [(one["name"], one["begin_ns"], one["source"], one["depth"]) for one in self.report["phases"]]
        self.assertEqual(found, expected)

    def test_findings_are_those_of_the_report(self):
        names = "definition layer space bytes blocks bytes_per_step ground steps first_step steps_to_oom owner hint"
        found = [[row[name] for name in names.split()] for row in self.table("findings")]
        expected = [[one[name] for name in names.split()] for one in self.report["leaks"]]
        self.assertEqual(found, expected)

    def test_segments_sum_to_those_of_the_report(self):
        found = collections.defaultdict(lambda: [0, 0, 0, 0])
        for row in self.table("segments"):
            amounts = found[row["device"], row["moment"]]
            for i, amount in enumerate((1, row["size_bytes"], row["used_bytes"], row["blocks"])):
                amounts[i] += amount
        for one in self.report["segments"]:
            expected = [one[name] for name in ("segments", "reserved_bytes", "allocated_bytes", "blocks")]
            self.assertEqual(found[one["device"], one["moment"]], expected)

    def test_devices_and_process_are_those_of_the_report(self):
        expected = [(one["device"], one["name"], one["total_bytes"]) for one in self.report["devices"]]
        self.assertEqual([(d["device"], d["name"], d["total_bytes"]) for d in self.table("devices")], expected)
        (process,) = self.table("process")
        raw = self.report["process"]
        self.assertEqual(process["command"], " ".join(raw["command"]))
        for name in "pid parent_pid rank local_rank host executable directory duration_ns".split():
            self.assertEqual(process[name], raw[name], name)
        self.assertEqual(process["start_epoch_ns"], raw["start_time_ns"])
        self.assertEqual(process["is_complete"], self.report["complete"])

    def test_filters_equal_filtering_afterwards(self):
        steps, half = (2, 6), self.recording.duration_ns // 2
        for name in self.recording.tables:
            whole = self.table(name)
            for filters, passes in (
                ({"time": (half, None)}, lambda row: row[TIMES[name]] >= half),
                ({"time": (None, half)}, lambda row: row[TIMES[name]] < half),
                ({"steps": steps}, lambda row: row[STEPS[name]] in range(*steps)),
                ({"device": "host"}, lambda row: row["device"] == HOST),
                ({"device": 0}, lambda row: row["device"] == 0),
                ({"layer": "torch"}, lambda row: row["layer"] == "torch"),
            ):
                try:
                    filtered = self.table(name, **filters)
                except gpumemtrace.ArgumentError as error:
                    self.assertIn("cannot be filtered by", str(error))
                    continue
                with self.subTest(table=name, filters=filters):
                    self.assertEqual(filtered, [row for row in whole if passes(row)])

    def test_columns_come_in_the_wanted_order(self):
        for name, columns in self.recording.tables.items():
            chosen = list(reversed(columns))[:5]
            part = self.recording.table(name, columns=chosen).to_pyarrow()
            self.assertEqual(part.column_names, chosen)
            whole = self.recording.table(name).to_pyarrow().select(chosen)
            self.assertEqual(part.to_pylist(), whole.to_pylist(), name)


class LargeConservation(Conservation):
    """The same for many threads, devices and layers, in several batches."""

    @classmethod
    def setUpClass(cls):
        cls.path = cli.make("large.gmt.gz", events=20000, threads=4, devices=2, sites=300, steps=30, torch=1)
        cls.open_it()

    def test_blocks_that_lived_at_the_peak_sum_to_the_peak(self):
        # Threads make events of one time: only the order of the events says which of them were before the peak.
        for account, totals in accounts_of(self.report):
            now, least, most = totals["peak_time_ns"], 0, 0
            for block in self.table("blocks", layer=account[0], device=account[1]):
                end = block["freed_time_ns"] or now + 1
                least += block["size_bytes"] if block["made_time_ns"] < now < end else 0
                most += block["size_bytes"] if block["made_time_ns"] <= now <= end else 0
            with self.subTest(account=account):
                self.assertLessEqual(least, totals["peak_bytes"])
                self.assertGreaterEqual(most, totals["peak_bytes"])
                self.assertLess(most - least, 1 + totals["peak_bytes"] // 4)


class HeapConservation(Conservation):
    """The same for the program's own pools, whose blocks may lie inside each other."""

    @classmethod
    def setUpClass(cls):
        story = heap_story.HeapStory()
        story.heap(1, "cache", 0x5000, 1 << 20)
        story.heap(2, "inner", 0x5000, 1 << 16)
        for i in range(6):
            story.heap_event(heap_story.ALLOC, 1, 0x5000 + i * 4096, 4096, heap_story.STEP)
            story.heap_event(heap_story.ALLOC, 2, 0x5000 + i * 4096, 64, heap_story.KEEP)
            if i % 2:
                story.heap_event(heap_story.FREE, 2, 0x5000 + i * 4096)
            story.step()
        cls.path = story.write("heaps.gmt.gz")
        cls.open_it()

    def test_blocks_of_heaps_have_their_addresses_and_heaps(self):
        found = sorted((b["heap"], b["address"], b["size_bytes"]) for b in self.table("blocks"))
        expected = [("cache", 0x5000 + i * 4096, 4096) for i in range(6)]
        self.assertEqual(found, expected + [("inner", 0x5000 + i * 4096, 64) for i in range(6)])


class Compacted(unittest.TestCase):
    """A compacted recording has only the events after the compaction, but all of its totals."""

    @classmethod
    def setUpClass(cls):
        whole, cls.path = stories.training("whole.gmt.gz", steps=30), cli.place("compacted.gmt.gz")
        done = cli.run("fold", "-o", cls.path, whole)
        assert done.returncode == 0, done.stderr
        cls.report = cli.report(cls.path)

    def test_sites_keep_their_sums_and_what_is_left_is_whole(self):
        with gpumemtrace.open(self.path) as recording:
            sites, blocks = rows(recording.table("sites")), rows(recording.table("blocks"))
            (process,) = rows(recording.table("process"))
            curve = rows(recording.table("curve", layer="torch"))
        self.assertGreater(process["folded_events"], 0)
        self.assertEqual(process["folded_events"] + process["events"], self.report["events"]["recorded"])
        for account, totals in accounts_of(self.report):
            mine = [site for site in sites if (site["layer"], site["device"]) == account]
            left = [b["size_bytes"] for b in blocks if (b["layer"], b["device"]) == account and not b["freed_time_ns"]]
            with self.subTest(account=account):
                self.assertEqual(sum(site["total_bytes"] for site in mine), totals["total_alloc_bytes"])
                self.assertEqual(sum(left), totals["left_bytes"])
        self.assertEqual(curve[-1]["live_bytes"], dict(accounts_of(self.report))["torch", 0]["left_bytes"])


class Readers(unittest.TestCase):
    """The libraries that read tables."""

    @classmethod
    def setUpClass(cls):
        cls.path = cli.make("readers.gmt.gz", events=150000, sites=300, steps=30, torch=1)
        cls.recording = gpumemtrace.open(cls.path)
        cls.addClassCleanup(cls.recording.close)

    def test_pyarrow_finds_each_table_valid(self):
        paths = [
            self.path,
            stories.training("valid.gmt.gz"),
            stories.damaged("cut.gmt.gz"),
            cli.make("empty.gmt.gz", events=0),
        ]
        for path in paths:
            with gpumemtrace.open(path) as recording:
                for name in recording.tables:
                    table = recording.table(name).to_pyarrow()
                    table.validate(full=True)
                    for field in table.schema:
                        if not field.nullable:
                            self.assertEqual(table.column(field.name).null_count, 0, (path, name, field.name))

    def test_the_schema_says_which_table_it_is_and_whether_it_is_whole(self):
        metadata = self.recording.table("blocks").to_pyarrow().schema.metadata
        self.assertEqual(metadata[b"gpumemtrace.table"], b"blocks")
        self.assertEqual(metadata[b"gpumemtrace.table_version"], b"1")
        self.assertEqual((metadata[b"gpumemtrace.complete"], metadata[b"gpumemtrace.damaged"]), (b"true", b"false"))
        path = stories.damaged("cut2.gmt.gz")
        with gpumemtrace.open(path) as recording:
            table = recording.table("events").to_pyarrow()
            self.assertEqual(table.schema.metadata[b"gpumemtrace.damaged"], b"true")
            damage = table.schema.metadata[b"gpumemtrace.damage"].decode()
            self.assertIn(damage, recording.warnings[0])
            self.assertEqual(damage, rows(recording.table("process"))[0]["damage"])
            # What can be read ends in order.
            self.assertEqual(len(table), cli.report(path)["events"]["replayed"])

    def test_columns_name_their_units(self):
        units = ("_bytes", "_ns", "_id", "_tid", "blocks", "step", "steps")
        counts = "event address result device depth frames own_frame line_number allocs frees series bytes".split()
        counts += "steps_to_oom bytes_per_step confidence pid parent_pid rank local_rank events".split()
        counts += ["folded_events", "dropped_events", "attempt", "world_size"]
        for name in self.recording.tables:
            for field in self.recording.table(name).to_pyarrow().schema:
                if pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type):
                    self.assertTrue(field.name.endswith(units) or field.name in counts, (name, field.name))

    def test_events_come_in_batches_of_64_ki_rows(self):
        reader = pyarrow.RecordBatchReader.from_stream(self.recording.table("events"))
        lengths = [len(batch) for batch in reader]
        self.assertGreater(len(lengths), 2)
        self.assertEqual(set(lengths[:-1]), {65536})

    def test_all_libraries_sum_to_the_same_bytes(self):
        table = self.recording.table("blocks")
        expected = table.to_pyarrow().group_by("line").aggregate([("size_bytes", "sum")]).to_pylist()
        expected = {row["line"]: row["size_bytes_sum"] for row in expected}
        self.assertGreater(len(expected), 100)
        blocks = table  # DuckDB finds the variable by its name
        found = dict(duckdb.sql("select line, sum(size_bytes)::bigint from blocks group by 1").fetchall())
        self.assertIs(blocks, table)
        self.assertEqual(found, expected)
        frame = table.to_polars().group_by("line").agg(polars.col("size_bytes").sum())
        self.assertEqual(dict(frame.with_columns(polars.col("line").cast(polars.String)).iter_rows()), expected)
        sums = table.to_pandas().groupby("line", observed=True, dropna=False)["size_bytes"].sum()
        self.assertEqual({None if pandas.isna(line) else line: size for line, size in sums.items()}, expected)
        sums = pandas.DataFrame.from_arrow(table).groupby("line", observed=True, dropna=False)["size_bytes"].sum()
        self.assertEqual({None if pandas.isna(line) else line: size for line, size in sums.items()}, expected)

    def test_duckdb_joins_a_table_with_itself_and_others(self):
        blocks, sites = self.recording.table("blocks"), self.recording.table("sites")
        ((pairs,),) = duckdb.sql("select count(*) from blocks a join blocks b using (address, made_time_ns)").fetchall()
        ((count,),) = duckdb.sql("select count(*) from blocks").fetchall()
        self.assertGreaterEqual(pairs, count)
        ((wrong,),) = duckdb.sql(
            "select count(*) from (select site_id, count(*) n from blocks group by 1) b "
            "join sites s using (site_id) where n != allocs"
        ).fetchall()
        self.assertEqual((wrong, len(blocks.columns), len(sites.columns)), (0, 20, 23))
        self.assertEqual(len(duckdb.sql("select * from blocks limit 5").fetchall()), 5)

    def test_pandas_keeps_unknown_integers_exact_and_texts_as_categories(self):
        frame = self.recording.table("blocks").to_pandas()
        self.assertEqual(str(frame["freed_time_ns"].dtype), "Int64")
        self.assertEqual(str(frame["made_step"].dtype), "UInt32")
        self.assertEqual(str(frame["line"].dtype), "category")
        self.assertEqual(str(frame["address"].dtype), "uint64")
        table = self.recording.table("blocks").to_pyarrow()
        self.assertEqual(list(frame.columns), table.column_names)
        self.assertEqual(frame["freed_time_ns"].isna().sum(), table.column("freed_time_ns").null_count)
        known = [value for value in table.column("freed_time_ns").to_pylist() if value is not None]
        self.assertEqual(frame["freed_time_ns"].dropna().tolist(), known)

    def test_frames_outlive_the_recording(self):
        with gpumemtrace.open(self.path) as recording:
            table = recording.table("events").to_pyarrow()
            frame = recording.table("events").to_polars()
            stream = pyarrow.RecordBatchReader.from_stream(recording.table("events"))
        self.assertEqual(table.num_rows, frame.height)
        self.assertEqual(stream.read_all(), table)
        part = table.slice(70000, 10)
        del table
        part.validate(full=True)

    def test_a_capsule_is_read_once_and_an_object_many_times(self):
        table = self.recording.table("sites")

        class Once:
            capsule = table.__arrow_c_stream__()

            def __arrow_c_stream__(self, requested_schema=None):
                return self.capsule

        once = Once()
        self.assertEqual(pyarrow.table(once), table.to_pyarrow())
        with self.assertRaises(Exception):  # noqa: B017 (pyarrow decides which)
            pyarrow.table(once)
        self.assertEqual(table.to_pyarrow(), table.to_pyarrow())

    def test_times_and_steps_may_be_given_in_several_forms(self):
        recording = self.recording
        half = datetime.timedelta(microseconds=recording.duration_ns // 2000)
        nanoseconds = recording.duration_ns // 2000 * 1000
        self.assertEqual(
            rows(recording.table("curve", time=(half, None))), rows(recording.table("curve", time=(nanoseconds, None)))
        )
        expected = rows(recording.table("blocks", steps=(4, 6)))
        self.assertGreater(len(expected), 10)
        self.assertEqual(rows(recording.table("blocks", steps=range(4, 6))), expected)
        self.assertEqual(len(expected), sum(len(rows(recording.table("blocks", steps=step))) for step in (4, 5)))
        for steps in ((6, 4), (10**6, None), (None, -3)):
            self.assertEqual(rows(recording.table("events", steps=steps)), [], steps)
        for time in ((2**70, None), (None, -1), (5, 5)):
            self.assertEqual(rows(recording.table("events", time=time)), [], time)
        self.assertEqual(rows(recording.table("steps", time=(None, 2**70))), rows(recording.table("steps")))

    def test_threads_read_tables_of_one_recording_together(self):
        import concurrent.futures

        names = ["events", "blocks", "curve", "frames", "sites"] * 3
        with gpumemtrace.open(self.path) as recording, concurrent.futures.ThreadPoolExecutor(5) as pool:
            together = list(pool.map(lambda name: recording.table(name).to_pyarrow(), names))
        for name, table in zip(names, together):
            self.assertEqual(table, self.recording.table(name).to_pyarrow(), name)


class Types(unittest.TestCase):
    def test_programs_that_use_the_package_are_checked(self):
        program = cli.place("program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(
                "import gpumemtrace\n"
                "with gpumemtrace.open('x') as recording:\n"
                "    reveal_type(recording.report().sites)\n"
                "    reveal_type(recording.table('blocks', steps=3))\n"
                "    recording.table(5)\n"
            )
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cli.place("mypy"), program],
            env={**os.environ, "MYPYPATH": stories.PACKAGE},
            capture_output=True,
            text=True,
        )
        self.assertIn('"tuple[gpumemtrace._results.Site, ...]"', done.stdout)
        self.assertIn('"gpumemtrace._tables.Table"', done.stdout)
        self.assertRegex(done.stdout, r'program\.py:5: error: Argument 1 to "table" .* has incompatible type "int"')


if __name__ == "__main__":
    tap.main()
