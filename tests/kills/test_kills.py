# SPDX-License-Identifier: MIT
"""Every event that was published before a kill is in the recovered file, once, and nothing else.

test_kills.py series COUNT [OPTION=VALUE ...] kills as often, in the folder that TMPDIR says, and prints what is wrong.
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
from snapshots import DRIVER, built, events, records

LONG = os.environ.get("GMT_TEST_LONG")
ROUNDS = 1000 if LONG else 5
STEP = built("step-writer")


class Counts:
    """What the kills of a series met."""

    folded = in_fold = not_begun = 0


def check_counts(run, info, published, is_full, is_folded):
    """What is wrong with how many events there are; None when nothing is."""
    counts = {row["tid"]: row["events"] for row in info["threads"]}
    # Of what is folded the check has the count of each thread, and the recording that of all.
    if not is_folded and counts != published:
        return f"published {published}, recovered {counts}"
    if info["events"] != sum(published.values()):
        return f"published {published}, recovered {info['events']}"
    # With a full disk the rings fill up, and what comes then is lost, each event counted.
    if not info["complete"] and not (is_full and info["dropped"]):
        return f"incomplete: {info['remarks']}"
    # The calls that the kill was in may have published their events, and have no note; a context is made once.
    accounted, calls = info["events"] + info["dropped"], run.calls()
    if not calls <= accounted <= calls + len(published) + 1:
        return f"{calls} calls, {accounted} events recovered or counted as lost"
    return None


def kill_once(wait, options, place, is_full, threads=4):
    """Kills when `wait`, called with the run, returns. What is wrong; None when nothing is."""
    run = Killed(options=options, place=place, threads=threads)
    try:
        if run.memory is None:
            return f"no memory: {run.ready} {run.process.poll()}"
        wait(run)
        run.kill()
        published = run.published()
        whole = os.path.join(tempfile.gettempdir(), f"whole.{os.getpid()}.gmt.gz")
        Counts.in_fold += os.path.exists(run.file + ".fold")
        done = cli("recover", "--force", "-o", whole, run.file)
        if done.returncode or not os.path.exists(whole):
            return f"recover: {done.stdout}{done.stderr}"
        info = json.loads(cli("info", "--json", whole).stdout)
        # On a machine that is busy enough, and then it is counted: it says that nothing was published.
        if info["dropped"] and "to start" in cli("dump", "--record=drop", whole).stdout:
            Counts.not_begun += 1
            return None
        found = run.check(whole, "stopped" if is_full else "whole", None if is_full else published)
        if not found.replace(" ", "").isdigit():
            return found
        is_folded = " " in found
        Counts.folded += is_folded
        said = check_counts(run, info, published, is_full, is_folded)
        if not said and os.path.exists(run.memory.path):
            return "the memory is still there"
        return said
    finally:
        run.clear()


def moment(choose, folds):
    """When to kill, as a text and a function that waits until then."""
    # Most in the midst of the recording; some in its first moments.
    seconds = choose.choice((0, choose.random() * 0.02, choose.random() * (2.0 if folds else 0.9)))
    if not folds or choose.random() < 0.3:
        return f"after {seconds:.4f} s", lambda run: time.sleep(seconds)

    # While a fold goes on, or when its file has just become the recording.
    is_over, number, later = (
        choose.random() < 0.5,
        choose.choice((1, 1, 1, 2)),
        choose.random() * choose.choice((0, 0.001, 0.03)),
    )

    def wait(run):
        for _ in range(number):
            run.wait_for_fold(3, is_over)
        time.sleep(later)

    return f"{later:.4f} s after {'the end' if is_over else 'the beginning'} of fold {number}", wait


def series(count, *settings):
    options = dict(setting.split("=", 1) for setting in settings)
    seed = random.SystemRandom().randrange(1 << 32)
    choose = random.Random(seed)
    place = options.pop("place", None)
    is_full = bool(options.pop("full", ""))
    folds = options.get("mode", "full") != "full"
    wrong = 0
    for number in range(count):
        when, wait = moment(choose, folds)
        # What a single thread had at its peak is known to the byte.
        said = kill_once(wait, options, place, is_full, choose.choice((1, 4, 4)) if folds else 4)
        if said:
            wrong += 1
            print(f"seed {seed}, kill {number} {when}: {said}", flush=True)
    print(
        f"# {count} kills, {Counts.folded} of folded recordings, {Counts.in_fold} in a fold, {Counts.not_begun} not "
        f"looked at because of a slow start",
        flush=True,
    )
    return 1 if wrong else 0


def in_small(mount, size, count, *settings):
    """A series in a mount namespace where `mount` is a small tmpfs; None where that cannot be had."""
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
    def test_between_any_two_instructions_of_the_writer_a_kill_would_leave_every_event_once(self):
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
    def test_what_cannot_wait_for_a_slow_start_is_counted(self):
        # So few calls that no ring is full.
        run = Killed("bursts=50", options={"overflow": "block"}, preload=[built("libslow-start.so")])
        self.assertEqual(run.wait(), 0)
        # One thread begins the recording; the first calls of the three others do not wait that long.
        (drop,) = records(run.file, "drop")
        self.assertIn("to start", drop["reason"])
        # What the driver takes for its context is an event of the first call, which may be one that did not wait.
        of_context = 1 - len(events(run.file, DRIVER))
        self.assertIn(of_context, (0, 1))
        self.assertEqual(len(events(run.file)) + drop["count"], run.calls() + of_context)


class Bound(unittest.TestCase):
    def check_held(self, threads):
        # A burst fills the rings and no more: nobody waits for room, in vain in the end where this test stands still.
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
        # What cannot wait for the start of a recording is another matter.
        self.assertEqual([row for row in records(run.file, "drop") if "to start" not in row["reason"]], [])

    def test_full_rings_that_the_writer_finds_all_at_once_fit_into_a_small_file(self):
        for threads in 4, 8:
            with self.subTest(threads=threads):
                self.check_held(threads)


class Late(unittest.TestCase):
    def held_in_a_free(self):
        """A run that was folded while one thread had freed a block and not told of it, and how long it was held so."""
        with tempfile.NamedTemporaryFile() as word:
            run = Killed(
                options={"mode": "window", "window": "2000"},
                preload=[built("libslow-free.so")],
                environment={"SLOW_FREE": word.name},
            )
            begun = time.monotonic()
            # Long enough that nobody waits for what is still to come, and other threads have its address.
            time.sleep(1.5)
            inode = os.stat(run.file).st_ino
            run.wait_until(lambda: os.stat(run.file).st_ino != inode, "a fold")
        held_s = time.monotonic() - begun
        calls = min(run.published().values())
        run.wait_until(lambda: min(run.published().values()) > calls + 1000, "the thread's next calls")
        run.kill()
        return run, held_s

    def test_a_free_of_which_the_recorder_learns_after_a_fold_is_no_missed_one(self):
        run, held_s = self.held_in_a_free()
        while held_s > 9:  # for ten seconds a free is waited for
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

    def test_every_published_event_is_recovered_and_none_invented_whenever_the_kill_comes(self):
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "series", str(ROUNDS)],
            capture_output=True,
            text=True,
            timeout=7000,
        )
        self.check_series(done)

    def test_also_while_older_events_are_folded(self):
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "series", str(ROUNDS), "mode=window", "window=2000"],
            capture_output=True,
            text=True,
            timeout=7000,
        )
        self.check_series(done)

    def test_also_when_the_disk_is_full(self):
        with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as place:
            self.check_series(in_small(place, "192k", ROUNDS, f"place={place}", "full=yes", "verbosity=0"))

    def test_also_when_shared_memory_has_64_megabytes(self):
        self.check_series(in_small("/dev/shm", "64m", ROUNDS))

    def test_also_when_shared_memory_has_no_room_at_all(self):
        self.check_series(in_small("/dev/shm", "1m", max(2, ROUNDS // 10)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["series"]:
        sys.exit(series(int(sys.argv[2]), *sys.argv[3:]))
    tap.main()
