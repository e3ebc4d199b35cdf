# SPDX-License-Identifier: MIT
"""Compacted recordings of real PyTorch: equal runs have equal totals, however much of each the compaction keeps."""

import collections
import json
import unittest

import tap
from recorded_run import SIM_PYTHON, cli, records, report
from test_exact import layers_of, own_file, record

MIN_COMPACTED = 10000
# Five rounds make 90,000 events. A compaction needs a cut behind 32,768 events and a window of 1,000 behind the cut.
ROUND_STEPS = 14
MAX_ROUNDS = 100
# The window run comes first. It determines the number of rounds for the other runs.
WAYS = {"window": {"window": "1000"}, "full": {}, "aggregate": {}}
# max_live_bytes is missing here, because it is only a bound for merged stacks.
NUMBERS = ("allocs", "frees", "live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "total_bytes")


def train_until_compacted(recording, process):
    """
    Requests rounds until the file has enough compacted events. The number of rounds depends on the machine's speed: the
    last half second before a cut is not compacted, and a fast machine may do the whole training in that time.
    """
    for _ in range(MAX_ROUNDS):
        if process.stdout.readline() != "more?\n":
            return  # the process has ended, and its exit code gives the reason
        printed = cli("report", "--json", *recording.files[:1])
        compacted = json.loads(printed.stdout).get("folded") if printed.returncode == 0 else None
        is_enough = compacted and compacted["events"] > MIN_COMPACTED
        process.stdin.write("enough\n" if is_enough else "more\n")
        process.stdin.flush()
        if is_enough:
            return
    raise AssertionError(f"after {MAX_ROUNDS} rounds the compacted part is {compacted}")


def record_mode(mode, options, rounds):
    how = {"COMMON_ROUNDS": str(rounds)} if rounds else {"COMMON_ASKS": "1"}
    return record(
        "transformer_loop.py",
        str(ROUND_STEPS),
        options={"mode": mode, **options},
        environment=how,
        meanwhile=None if rounds else train_until_compacted,
    )


def without_times(value):
    """Returns the value without its times, which differ from run to run."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if not key.endswith(("_ns", "stamp"))}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def sites_of(found):
    """Counts the sites with equal place and equal numbers. One place may have two sites, and both count."""
    sites = collections.Counter()
    for site in found["sites"]:
        stack = tuple(
            (frame["kind"], frame["function"], frame.get("file"), frame.get("line")) for frame in site["stack"]
        )
        sites[(site["layer"], site["space"], site["device"], stack, *(site[key] for key in NUMBERS))] += 1
    return sites


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Compaction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.paths, cls.printed, cls.runs, rounds = {}, {}, [], None
        for mode, options in WAYS.items():
            run, cls.printed[mode] = record_mode(mode, options, rounds)
            rounds = cls.printed[mode]["rounds"]
            cls.runs.append(run)
            cls.paths[mode] = own_file(run)
        print(f"# {rounds} rounds")
        cls.reports = {mode: report(path) for mode, path in cls.paths.items()}

    def test_each_way_compacts_enough_events(self):
        full = self.reports["full"]
        self.assertNotIn("folded", full)
        for mode in "window", "aggregate":
            found = self.reports[mode]
            self.assertEqual(found["events"]["recorded"], full["events"]["recorded"])
            self.assertTrue(found["complete"])
            compacted = found["folded"]["events"]
            self.assertGreater(compacted, MIN_COMPACTED)
            self.assertLessEqual(len(records(self.paths[mode], "event")), full["events"]["recorded"] - compacted)

    def test_totals_and_peaks_are_what_pytorch_counted(self):
        for mode, found in self.reports.items():
            with self.subTest(mode):
                (counts,) = self.printed[mode]["devices"]
                torch, cuda = (layers_of(found, 0)[layer] for layer in ("torch", "cuda"))
                self.assertEqual(torch["peak_bytes"], counts["max_memory_allocated"])
                self.assertEqual(cuda["peak_bytes"], counts["max_memory_reserved"])
                self.assertEqual(torch["alloc_count"], counts["allocated_count"])

    def test_each_site_equals_that_of_a_run_with_all_events(self):
        full = sites_of(self.reports["full"])
        self.assertGreater(len(full), 50)
        for mode in "window", "aggregate":
            with self.subTest(mode):
                self.assertEqual(sites_of(self.reports[mode]), full)

    def test_devices_host_and_heaps_equal_those_of_a_run_with_all_events(self):
        for mode in "window", "aggregate":
            for part in "devices", "host", "heaps":
                with self.subTest(mode=mode, part=part):
                    self.assertEqual(without_times(self.reports[mode][part]), without_times(self.reports["full"][part]))

    def test_the_ledger_at_the_peak_and_at_the_end_has_the_same_lines(self):
        (full,) = self.reports["full"]["ledger"]
        for mode in "window", "aggregate":
            with self.subTest(mode):
                self.assertEqual(without_times(self.reports[mode]["ledger"]), [without_times(full)])

    def test_the_verdict_is_that_of_a_run_with_all_events(self):
        """The training leaks nothing. Compacted steps of the optimizer count too."""
        for mode, path in self.paths.items():
            with self.subTest(mode):
                said = json.loads(cli("leaks", "--json", path).stdout)
                self.assertEqual((said["leaks"], said["growth_not_judged"], said["end_not_judged"]), ([], None, None))
                self.assertEqual(
                    len([step for step in self.reports[mode]["steps"] if step["source"] == "optimizer"]),
                    len([step for step in self.reports["full"]["steps"] if step["source"] == "optimizer"]),
                )
                self.assertEqual(cli("check", "--strict", "--max-growth=0B/step", path).returncode, 0)

    def test_gpumemtrace_fold_keeps_sites_devices_and_ledger(self):
        for mode, more in (("full", ()), ("full", ("--keep-events=5000",)), ("window", ())):
            with self.subTest(mode=mode, more=more):
                compacted = self.paths[mode] + ".small.gmt.gz"
                done = cli("fold", self.paths[mode], "--force", "-o", compacted, *more)
                self.assertEqual(done.returncode, 0, done.stderr)
                found, whole = report(compacted), self.reports[mode]
                self.assertEqual(sites_of(found), sites_of(whole))
                for part in "devices", "host", "heaps", "ledger", "process", "complete", "anomalies":
                    self.assertEqual(found[part], whole[part], part)
                self.assertGreater(found["folded"]["events"], 30000)


if __name__ == "__main__":
    tap.main()
