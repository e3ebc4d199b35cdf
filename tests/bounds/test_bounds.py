# SPDX-License-Identifier: MIT
"""Long runs: the sizes of files and memory stay within their limits, and the totals equal the program's and the driver's."""

import collections
import contextlib
import glob
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import members
import tap
from definitions import Kind
from recorded_run import BUILD, CLI, CUDA, SHIM, SIMCUDA, cli, records, report

LONG_RUN = os.path.join(BUILD, "tests", "bounds", "long-run")
LONG = bool(os.environ.get("GMT_TEST_LONG"))
EVENTS = int(os.environ.get("GMT_TEST_EVENTS", 10**9 if LONG else 2 * 10**6))
RATE = int(os.environ.get("GMT_TEST_RATE", 0))  # events per second; 0: as many as the recorder can take
MIB = 1 << 20
OFTEN = {"mode": "window", "window": "1000"}
TIMEOUT_S = 1200  # only a program that never ends takes so long
STEADY = 100000  # events per second that leave the recorder time to compact, even on a busy machine
REMOVED = "the file was removed"
SITE_KEYS = ("allocs", "frees", "total_bytes", "live_bytes", "live_blocks", "peak_bytes", "peak_blocks")


class Run:
    """Runs long-run under the recorder and watches it from outside. The run ends when `meanwhile` has returned."""

    def __init__(self, test, events, threads=2, rate=RATE, options=None, meanwhile=None, timeout=TIMEOUT_S):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = os.path.join(self.folder, "a.gmt.gz")
        options = {"output": self.path, "verbosity": "2", "overflow": "wait", **(options or {})}
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": SIMCUDA,
            "SIMCUDA_HOLLOW": "1",
            "GPUMEMTRACE_OPTIONS": ":".join(f"{key}='{value}'" for key, value in options.items()),
        }
        self.largest_bytes = 0
        self.files_seen = set()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            self.process = subprocess.Popen(
                ["env", f"LD_PRELOAD={SHIM}", LONG_RUN, str(events), str(threads), str(rate), "1"],
                stdout=out,
                stderr=err,
                env=environment,
                cwd=self.folder,
            )
            watch = threading.Thread(target=self.watch)
            watch.start()
            try:
                if meanwhile:
                    meanwhile(self)
                    self.process.send_signal(signal.SIGTERM)
                self.code = self.process.wait(timeout)
            finally:
                self.process.kill()
                self.process.wait()
                watch.join()
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read()
        self.accounting = json.loads(self.out) if self.out else None

    def sizes(self):
        """Returns the size of each file, by its name and inode number."""
        found = {}
        for name in os.listdir(self.folder):
            with contextlib.suppress(FileNotFoundError):
                about = os.stat(os.path.join(self.folder, name))
                found[name, about.st_ino] = about.st_size
        return found

    def watch(self):
        while self.process.poll() is None:
            sizes = self.sizes()
            self.files_seen.update(name for name, _ in sizes)
            # A file that replaces another one between two looks would count twice.
            if self.sizes().keys() == sizes.keys():
                self.largest_bytes = max(self.largest_bytes, sum(sizes.values()))
            time.sleep(0.002)

    def said(self):
        """Returns what the running program has written to stderr until now."""
        with open(f"/proc/{self.process.pid}/fd/2", encoding="utf-8") as file:
            return file.read()

    @property
    def compactions(self):
        return self.err.count(": compacted; ")

    def wait_for_compactions(self, count=1):
        """Waits until the file has been replaced `count` more times."""
        seen, before, deadline = -1, None, time.monotonic() + TIMEOUT_S
        while seen < count and time.monotonic() < deadline and self.process.poll() is None:
            try:
                number = os.stat(self.path).st_ino
            except FileNotFoundError:
                time.sleep(0.001)
                continue
            seen, before = seen + (number != before), number
            time.sleep(0.001)
        assert seen >= count, (
            f"nothing was compacted: {self.said() if self.process.poll() is None else self.process.returncode}"
        )

    def wait_until(self, condition, what):
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            assert self.process.poll() is None and time.monotonic() < deadline, f"never came: {what}"
            time.sleep(0.01)

    def wait_until_drops(self, path=None):
        """Waits until the file of the running program is full and has a record of dropped events."""
        with tempfile.NamedTemporaryFile() as copy:

            def has_drops():
                shutil.copy(path or self.path, copy.name)
                # The file may still be empty.
                return "reached max_size" in cli("dump", "--json", copy.name, "--record=drop").stdout

            self.wait_until(has_drops, "a full file")


def sites_of(found):
    return collections.Counter(
        tuple(site[key] for key in SITE_KEYS)
        for site in found["sites"]
        if site["layer"] == "cuda" and site["space"] == "device" and site["allocs"]
    )


class Accounting(unittest.TestCase):
    def check_accounting(self, run):
        """Peaks and totals of each site equal the program's. If the run dropped events, their number must be right."""
        self.assertEqual(run.code, 0, run.err)
        found, accounting = report(run.path), run.accounting
        (layer,) = (row for row in found["devices"][0]["layers"] if row["layer"] == "cuda")
        counted = layer["alloc_count"] + layer["free_count"]
        dropped = {(row["thread"], row["reason"]): row["count"] for row in records(run.path, "drop")}
        if dropped:
            print(f"# this machine is too busy: {sum(dropped.values())} of {accounting['calls']} events were dropped")
            self.assertLessEqual(counted, accounting["calls"])
            unmatched = found["anomalies"]["unknown_frees"]
            self.assertGreaterEqual(counted + sum(dropped.values()) + unmatched, accounting["calls"])
            return found
        self.assertEqual(
            (counted, layer["live_bytes"], layer["live_blocks"], layer["peak_bytes"], layer["peak_blocks"]),
            tuple(accounting[key] for key in ("calls", "live_bytes", "live_blocks", "peak_bytes", "peak_blocks")),
        )
        self.assertEqual(sites_of(found), collections.Counter(tuple(site) for site in accounting["sites"]))
        self.assertTrue(found["complete"])
        return found


class Bounds(Accounting):
    def run_checked(self, events, **arguments):
        """Repeats runs that dropped events: on a very busy machine the recorder drops some, which proves nothing."""
        for _ in range(3):
            run = Run(self, events, **arguments)
            if run.code or not records(run.path, "drop"):
                return run
        return run

    def test_millions_of_events_stay_within_the_bounds_and_are_exact(self):
        run = self.run_checked(
            EVENTS,
            options={"mode": "window", "window": "20000", "max_size": "8MiB"},
            timeout=TIMEOUT_S if EVENTS < 10**7 else None,
        )
        self.check_accounting(run)
        print(
            f"# {run.accounting['calls']} events in {run.accounting['seconds']} s, {run.compactions} compactions, at most "
            f"{run.largest_bytes} bytes of files, {run.accounting['memory_kib']} KiB of memory"
        )
        self.assertGreater(run.compactions, EVENTS / 10**6)
        self.assertLessEqual(run.largest_bytes, 8 * MIB)
        self.assertLess(run.accounting["memory_kib"], 64 * 1024)
        events = len(records(run.path, "event"))
        self.assertGreaterEqual(events, 20000)
        # A compaction may be given up, and events arrive during a compaction. Their number depends on the machine.
        self.assertLess(events * run.compactions, 3 * run.accounting["calls"])

    def test_mode_aggregate_keeps_totals_and_live_blocks(self):
        run = self.run_checked(400000, options={"mode": "aggregate"})
        self.check_accounting(run)
        left = [row for row in records(run.path, "event") if row["layer"] == CUDA]
        if not records(run.path, "drop"):
            allocs, frees = (sum(row["kind"] == kind for row in left) for kind in (Kind.ALLOC, Kind.FREE))
            self.assertEqual(allocs - frees, run.accounting["live_blocks"])
        # Left are the live blocks of the last step's end, and later events. Their number depends on the machine.
        self.assertLess(len(left), run.accounting["live_blocks"] + 16384)

    def test_a_full_recording_becomes_a_window_near_max_size(self):
        run = self.run_checked(800000, options={"mode": "full", "max_size": "4MiB", "stacks": "native"})
        self.check_accounting(run)
        self.assertLessEqual(run.largest_bytes, 4 * MIB)
        notes = [row["text"] for row in records(run.path, "note")]
        self.assertEqual(sum("mode=full became mode=window" in note for note in notes), 1, notes)
        self.assertIn("mode=full became mode=window", run.err)

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_a_window_that_does_not_fit_is_shorter_and_reports_it(self):
        run = self.run_checked(800000, options={"mode": "window", "window": "100000000", "max_size": "4MiB"})
        self.check_accounting(run)
        self.assertLessEqual(run.largest_bytes, 4 * MIB)
        self.assertTrue(any("window is shorter" in row["text"] for row in records(run.path, "note")))

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_a_window_may_be_given_in_seconds_or_steps(self):
        for window, least in (("1s", 10000), ("50steps", 50000)):
            with self.subTest(window=window):
                run = self.run_checked(400000, options={"mode": "window", "window": window})
                self.check_accounting(run)
                self.assertGreaterEqual(len(records(run.path, "event")), least)


class Files(Accounting):
    """Proves that recordings survive events around their file."""

    def check_ended(self, path):
        self.assertEqual(len(records(path, "end")), 1)
        self.assertFalse(any("damage" in note or "ends in the middle" in note for note in report(path)["notes"]))

    def test_a_removed_file_is_not_created_again(self):
        def remove(run):
            run.wait_for_compactions()
            os.unlink(run.path)
            run.wait_until(lambda: REMOVED in run.said(), "a word that it is gone")
            time.sleep(2)  # time enough for another compaction

        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=remove)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(os.listdir(run.folder), [])
        self.assertEqual(sum(REMOVED in line for line in run.err.splitlines()), 1, run.err)

    def test_a_moved_file_is_compacted_at_its_new_place(self):
        def move(run):
            run.wait_for_compactions()
            os.rename(run.path, os.path.join(run.folder, "b.gmt.gz"))
            run.path = os.path.join(run.folder, "b.gmt.gz")
            run.wait_for_compactions()

        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=move)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(os.listdir(run.folder), ["b.gmt.gz"])
        self.check_ended(run.path)

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_another_file_at_the_path_is_not_changed(self):
        def replace(run):
            run.wait_for_compactions()
            os.rename(run.path, os.path.join(run.folder, "mine"))
            with open(run.path, "w") as file:
                file.write("somebody's")
            time.sleep(3)

        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=replace)
        self.assertEqual(run.code, 0, run.err)
        with open(run.path) as file:
            self.assertEqual(file.read(), "somebody's")
        self.check_ended(os.path.join(run.folder, "mine"))

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_a_file_or_link_at_the_temporary_name_is_not_changed(self):
        with tempfile.NamedTemporaryFile("w+") as victim:

            def plant(run):
                run.wait_until(lambda: os.path.exists(run.path), "the file")
                os.symlink(victim.name, run.path + ".fold")
                run.wait_for_compactions(2)

            run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=plant)
            self.assertEqual(run.code, 0, run.err)
            self.assertEqual(os.path.getsize(victim.name), 0)
            self.assertTrue(os.path.islink(run.path + ".fold"))
            self.assertGreater(run.compactions, 0)

    def test_a_folder_without_space_for_a_second_file_costs_one_line_and_no_event(self):
        def close(run):
            run.wait_until(lambda: os.path.exists(run.path), "the file")
            os.chmod(run.folder, 0o500)
            run.wait_until(lambda: "could not be compacted" in run.said(), "a compaction that is refused")

        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=close)
        os.chmod(run.folder, 0o700)
        self.check_accounting(run)
        self.assertEqual(run.err.count("could not be compacted"), 1, run.err)

    def test_modes_of_the_file_are_kept(self):
        def open_up(run):
            run.wait_for_compactions()
            os.chmod(run.path, 0o640)
            run.wait_for_compactions()

        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=open_up)
        self.assertEqual(os.stat(run.path).st_mode & 0o777, 0o640)

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_the_file_is_whole_at_any_moment(self):
        def read(run):
            run.wait_for_compactions()
            looks = 0
            while looks < 20 or run.counted <= 30000:
                looks += 1
                run.copy = os.path.join(run.folder, "copy")
                shutil.copy(run.path, run.copy)
                found = report(run.copy)
                counted = sum(
                    layer["alloc_count"] + layer["free_count"]
                    for device in found["devices"]
                    for layer in device["layers"]
                    if layer["layer"] == "cuda"
                )
                self.assertGreaterEqual(counted, run.counted)
                run.counted = counted
            os.unlink(run.copy)

        Run.counted = 0
        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=read)
        self.assertEqual(run.code, 0, run.err)
        self.assertGreater(run.counted, 30000)

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_a_kill_leaves_a_whole_file_and_the_next_run_removes_the_rest(self):
        left = 0
        for _ in range(50):

            def kill(run):
                run.wait_for_compactions()
                while not glob.glob(run.path + ".fold*") and run.process.poll() is None:
                    pass
                run.process.send_signal(signal.SIGKILL)

            run = Run(self, 10**9, threads=1, options=OFTEN, meanwhile=kill)
            self.assertEqual(run.code, -signal.SIGKILL)
            found = report(run.path)
            # The report lacks the events in the ring; `gpumemtrace recover` has them. No earlier event is missing.
            self.assertEqual(found["anomalies"], {key: 0 for key in found["anomalies"]})
            others = glob.glob(run.path + ".fold*")
            left += len(others)
            if others:
                again = subprocess.run(
                    ["env", f"LD_PRELOAD={SHIM}", LONG_RUN, "200000", "1", str(RATE), "1"],
                    cwd=run.folder,
                    timeout=200,
                    capture_output=True,
                    env={
                        **os.environ,
                        "LD_LIBRARY_PATH": SIMCUDA,
                        "SIMCUDA_HOLLOW": "1",
                        "GPUMEMTRACE_OPTIONS": "output=again.gmt.gz:" + ":".join(f"{k}={v}" for k, v in OFTEN.items()),
                    },
                )
                self.assertEqual(again.returncode, 0)
                self.assertEqual(glob.glob(run.path + ".fold*"), [])
                break
        self.assertGreater(left, 0, "no moment was in a compaction")

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_a_temporary_file_of_a_live_recorder_is_not_removed(self):
        def start_another(run):
            run.wait_for_compactions()
            other = subprocess.run(
                ["env", f"LD_PRELOAD={SHIM}", LONG_RUN, "200000", "1", str(RATE), "2"],
                cwd=run.folder,
                timeout=200,
                capture_output=True,
                env={
                    **os.environ,
                    "LD_LIBRARY_PATH": SIMCUDA,
                    "SIMCUDA_HOLLOW": "1",
                    "GPUMEMTRACE_OPTIONS": "output=other.gmt.gz:" + ":".join(f"{k}={v}" for k, v in OFTEN.items()),
                },
            )
            self.assertEqual(other.returncode, 0)

        run = Run(self, 10**9, rate=STEADY, options=OFTEN, meanwhile=start_another)
        self.assertEqual(run.code, 0, run.err)
        self.assertNotIn("could not be compacted", run.err)
        self.assertEqual(sorted(os.listdir(run.folder)), ["a.gmt.gz", "other.gmt.gz"])

    def test_gzip_reads_a_file_with_several_members(self):
        run = Run(self, 300000, options=OFTEN)
        with gzip.open(run.path) as file:
            self.assertTrue(file.read().startswith(b"GMTRACE\n"))

    def test_each_member_describes_the_previous_one(self):
        for options, least in ({"mode": "full"}, 2), ({**OFTEN, "window": "100000"}, 0):
            run = Run(self, 600000, options=options)
            described = 0
            for rows, said in members.read(run.path):
                described += said is not None
                self.assertIn(said, (None, members.describe(rows)))
            # Members hold a mebibyte; the file has nearly five. The last member and the copied rest have none.
            self.assertGreaterEqual(described, least)
            wanted = [CLI, "dump", "--json", "--record=event", f"--from={10**8}", f"--until={2 * 10**8}", run.path]
            shown = subprocess.run(wanted, capture_output=True, check=True).stdout
            self.assertEqual(shown, subprocess.run([*wanted, "--strict"], capture_output=True, check=True).stdout)
            self.assertTrue(shown)

    @unittest.skipUnless(LONG, "takes more than a minute: scripts/test --long")
    def test_a_full_file_is_compacted_as_soon_as_possible(self):
        def deny(run):
            run.wait_for_compactions()
            # The next compaction gets no descriptor. The recorder tries again a minute later. Until then the file fills up.
            before = resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
            while run.process.poll() is None and "could not be compacted" not in run.said():
                time.sleep(0.1)
            run.wait_until_drops()
            resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE, before)
            run.wait_for_compactions()

        run = Run(self, 10**10, options={"mode": "window", "window": "20000", "max_size": "4MiB"}, meanwhile=deny)
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("could not be compacted", run.err)
        self.assertLessEqual(run.largest_bytes, 4 * MIB)
        # The recorder counted the events that it lost meanwhile, and recorded later ones.
        self.assertEqual(len(records(run.path, "end")), 1)
        self.assertIn("the file reached max_size", {row["reason"] for row in records(run.path, "drop")})
        self.assertGreater(len(records(run.path, "event")), 10000)

    @unittest.skipUnless(LONG, "takes long: scripts/test --long")
    def test_at_max_size_events_end_in_order_and_are_counted(self):
        def unlink(run):
            run.wait_for_compactions(0)
            run.fd = os.open(run.path, os.O_RDONLY)
            self.addCleanup(os.close, run.fd)
            # The recorder still writes to the file under its other name. It cannot compact the file without the first name.
            os.link(run.path, os.path.join(run.folder, "other"))
            os.unlink(run.path)
            run.wait_until_drops(os.path.join(run.folder, "other"))

        run = Run(self, 10**9, options={"max_size": "1MiB", "mode": "full"}, meanwhile=unlink)
        self.assertEqual(run.code, 0, run.err)
        size = os.fstat(run.fd).st_size
        self.assertLessEqual(size, MIB)
        copy = os.path.join(run.folder, "copy.gmt.gz")
        with open(copy, "wb") as file:
            file.write(os.pread(run.fd, size, 0))
        dropped = {row["reason"]: row["count"] for row in records(copy, "drop")}
        events = sum(row["layer"] == CUDA for row in records(copy, "event"))
        # The end of the context is an event too, which the program does not count.
        self.assertIn(dropped["the file reached max_size"] - (run.accounting["calls"] - events), (0, 1))
        # The file has sixteen parts. One is reserved for the end, and two may still wait to be compressed.
        self.assertGreater(size, MIB * 3 // 4)
        self.assertEqual(len(records(copy, "end")), 1)


if __name__ == "__main__":
    tap.main()
