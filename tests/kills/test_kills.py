# SPDX-License-Identifier: MIT
"""A recovered file has every event that was published before the kill, once, and no other event.

test_kills.py series COUNT [OPTION=VALUE ...] makes COUNT kills in the folder TMPDIR and prints the failures.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import tap
from killing import RING_EVENTS, Killed, cli
from recorded_run import DRIVER, built, events, records

LONG = os.environ.get("GMT_TEST_LONG")
ROUNDS = 1000 if LONG else 5
STEP = built("step-writer")


class Counts:
    """Counts kinds of kills in a series."""

    compacted = in_compaction = not_begun = 0


def check_counts(run, info, published, is_full, is_compacted):
    """Checks the number of events. Returns the failure as a text, or None."""
    counts = {row["tid"]: row["events"] for row in info["threads"]}
    # A compacted recording has only the count of all threads; run.check() compares the count of each thread.
    if not is_compacted and counts != published:
        return f"published {published}, recovered {counts}"
    if info["events"] != sum(published.values()):
        return f"published {published}, recovered {info['events']}"
    # With a full disk, the rings fill up. The recorder then drops events and counts each of them.
    if not info["complete"] and not (is_full and info["dropped"]):
        return f"incomplete: {info['remarks']}"
    # Each thread's last call may have published its event without a note. The context adds one event.
    accounted, calls = info["events"] + info["dropped"], run.calls()
    if not calls <= accounted <= calls + len(published) + 1:
        return f"{calls} calls, {accounted} events recovered or counted as lost"
    return None


def kill_once(wait, options, place, is_full, threads=4):
    """Starts a run, calls `wait(run)`, then kills the run. Returns the failure as a text, or None."""
    run = Killed(options=options, place=place, threads=threads)
    try:
        if run.memory is None:
            return f"no memory: {run.ready} {run.process.poll()}"
        wait(run)
        run.kill()
        published = run.published()
        whole = os.path.join(tempfile.gettempdir(), f"whole.{os.getpid()}.gmt.gz")
        Counts.in_compaction += os.path.exists(run.file + ".fold")
        done = cli("recover", "--force", "-o", whole, run.file)
        if done.returncode or not os.path.exists(whole):
            return f"recover: {done.stdout}{done.stderr}"
        info = json.loads(cli("info", "--json", whole).stdout)
        # On a busy machine the recording may begin too late. The recorder counts the events that it drops then.
        if info["dropped"] and "to start" in cli("dump", "--record=drop", whole).stdout:
            Counts.not_begun += 1
            return None
        found = run.check(whole, "stopped" if is_full else "whole", None if is_full else published)
        if not found.replace(" ", "").isdigit():
            return found
        is_compacted = " " in found
        Counts.compacted += is_compacted
        said = check_counts(run, info, published, is_full, is_compacted)
        if not said and os.path.exists(run.memory.path):
            return "the memory is still there"
        return said
    finally:
        run.clear()


def moment(choose, compactions):
    """Chooses the moment of a kill. Returns it as a text, and a function that waits until then."""
    # Most kills come in the middle of the recording, some in its first moments.
    seconds = choose.choice((0, choose.random() * 0.02, choose.random() * (2.0 if compactions else 0.9)))
    if not compactions or choose.random() < 0.3:
        return f"after {seconds:.4f} s", lambda run: time.sleep(seconds)

    # During a compaction, or when its file has just become the recording.
    is_over, number, later = (
        choose.random() < 0.5,
        choose.choice((1, 1, 1, 2)),
        choose.random() * choose.choice((0, 0.001, 0.03)),
    )

    def wait(run):
        for _ in range(number):
            run.wait_for_compaction(3, is_over)
        time.sleep(later)

    return f"{later:.4f} s after {'the end' if is_over else 'the beginning'} of compaction {number}", wait


def series(count, *settings):
    options = dict(setting.split("=", 1) for setting in settings)
    seed = random.SystemRandom().randrange(1 << 32)
    choose = random.Random(seed)
    place = options.pop("place", None)
    is_full = bool(options.pop("full", ""))
    compactions = options.get("mode", "full") != "full"
    wrong = 0
    for number in range(count):
        when, wait = moment(choose, compactions)
        # The check knows the exact peak of a single thread.
        said = kill_once(wait, options, place, is_full, choose.choice((1, 4, 4)) if compactions else 4)
        if said:
            wrong += 1
            print(f"seed {seed}, kill {number} {when}: {said}", flush=True)
    print(
        f"# {count} kills, {Counts.compacted} of compacted recordings, {Counts.in_compaction} in a compaction, "
        f"{Counts.not_begun} not checked because of a slow start",
        flush=True,
    )
    return 1 if wrong else 0


def in_small(mount, size, count, *settings):
    """Runs a series in a mount namespace where `mount` is a small tmpfs. Returns None without the right to mount."""
    script = f'mount -t tmpfs -o size={size},mode=1777 none {mount} && exec "$@"'
    if subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True).returncode:
        return None
    return subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            script,
            "sh",
            sys.executable,
            os.path.abspath(__file__),
            "series",
            str(count),
            *settings,
        ],
        capture_output=True,
        text=True,
        timeout=7000,
    )


class Steps(unittest.TestCase):
    def test_a_kill_between_any_two_instructions_of_the_writer_leaves_every_event_once(self):
        run = Killed("bursts=200", threads=1)
        done = subprocess.run(
            [STEP, run.file, run.memory.path, str(run.memory.pid), run.log, "200", "2" if LONG else "1"],
            capture_output=True,
            text=True,
            timeout=3600,
        )
        if done.returncode == 77:
            self.skipTest(f"needs the right to trace: {done.stderr}")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        instructions, states = (int(word) for word in done.stdout.split() if word.isdigit())
        self.assertGreater(instructions, 10000)
        self.assertGreater(states, 5)


class Start(unittest.TestCase):
    def test_events_that_cannot_wait_for_a_slow_start_are_counted(self):
        # The calls are so few that no ring is full.
        run = Killed("bursts=50", options={"overflow": "block"}, preload=[built("libslow-start.so")])
        self.assertEqual(run.wait(), 0)
        # One thread begins the recording. The first calls of the three other threads do not wait that long.
        (drop,) = records(run.file, "drop")
        self.assertIn("to start", drop["reason"])
        # The first call also has an event for the driver's context. The recorder may have dropped that event.
        of_context = 1 - len(events(run.file, DRIVER))
        self.assertIn(of_context, (0, 1))
        self.assertEqual(len(events(run.file)) + drop["count"], run.calls() + of_context)


class FullRings(unittest.TestCase):
    def check_held(self, threads):
        # A burst exactly fills the rings. So no thread waits for space, which would end in drops if this test is slow.
        run = Killed(
            f"bursts={RING_EVENTS}", threads=threads, options={"mode": "window", "window": "2000", "max_size": "1MiB"}
        )

        def each_ring_has(events):
            return all(published - consumed == events for _, published, consumed, _ in run.memory.rings())

        for number in range(1, 4):
            run.wait_until(lambda: run.calls() == threads * number * RING_EVENTS and each_ring_has(0), "what was made")
            if not run.hold_writer(lambda: run.process.send_signal(signal.SIGUSR1), lambda: each_ring_has(RING_EVENTS)):
                self.skipTest("needs the right to trace")
        run.wait_until(lambda: each_ring_has(0), "what was in the rings")
        run.kill()
        self.assertEqual(cli("recover", run.file).returncode, 0)
        # Events that could not wait for the start of the recording may be dropped.
        self.assertEqual([row for row in records(run.file, "drop") if "to start" not in row["reason"]], [])

    def test_full_rings_at_one_moment_fit_into_a_small_file(self):
        for threads in 4, 8:
            with self.subTest(threads=threads):
                self.check_held(threads)


class EventsAfterFold(unittest.TestCase):
    def held_in_a_free(self):
        """
        Holds one thread between its free and the record of the free until a compaction. Returns the run, and how many
        seconds the thread was held.
        """
        with tempfile.NamedTemporaryFile() as word:
            run = Killed(
                options={"mode": "window", "window": "2000"},
                preload=[built("libslow-free.so")],
                environment={"SLOW_FREE": word.name},
            )
            begun = time.monotonic()
            # Long enough that the recorder goes on without the late free, and that other threads get its address.
            time.sleep(1.5)
            inode = os.stat(run.file).st_ino
            run.wait_until(lambda: os.stat(run.file).st_ino != inode, "a compaction")
        held_s = time.monotonic() - begun
        calls = min(run.published().values())
        run.wait_until(lambda: min(run.published().values()) > calls + 1000, "the thread's next calls")
        run.kill()
        return run, held_s

    def test_a_free_that_is_recorded_after_a_compaction_is_not_a_missed_free(self):
        run, held_s = self.held_in_a_free()
        while held_s > 9:  # the recorder waits ten seconds for a late free
            run, held_s = self.held_in_a_free()
        published = run.published()
        self.assertEqual(cli("recover", run.file).returncode, 0)
        self.assertRegex(run.check(run.file, "whole", published), r"^\d+ \d+$")


class Kills(unittest.TestCase):
    def check_series(self, done):
        if done is None:
            self.skipTest("needs the right to mount")
        wrong = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual((done.returncode, wrong, done.stderr), (0, [], ""))
        print(done.stdout, end="")

    def test_exactly_the_published_events_are_recovered_after_a_kill_at_any_moment(self):
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "series", str(ROUNDS)],
            capture_output=True,
            text=True,
            timeout=7000,
        )
        self.check_series(done)

    def test_exactly_the_published_events_are_recovered_while_older_events_are_compacted(self):
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "series", str(ROUNDS), "mode=window", "window=2000"],
            capture_output=True,
            text=True,
            timeout=7000,
        )
        self.check_series(done)

    def test_exactly_the_published_events_are_recovered_when_the_disk_is_full(self):
        with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as place:
            self.check_series(in_small(place, "192k", ROUNDS, f"place={place}", "full=yes", "verbosity=0"))

    def test_exactly_the_published_events_are_recovered_when_shared_memory_has_64_megabytes(self):
        self.check_series(in_small("/dev/shm", "64m", ROUNDS))

    def test_exactly_the_published_events_are_recovered_when_shared_memory_is_full(self):
        self.check_series(in_small("/dev/shm", "1m", max(2, ROUNDS // 10)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["series"]:
        sys.exit(series(int(sys.argv[2]), *sys.argv[3:]))
    tap.main()
