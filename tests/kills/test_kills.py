# SPDX-License-Identifier: MIT
"""Every event that was published before a kill is in the recovered file, once, and nothing else.

test_kills.py series COUNT [OPTION=VALUE ...] kills as often, in the folder that TMPDIR says, and prints what is wrong.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

import tap
from killing import PROGRAMS, Killed, cli
from snapshots import events, records

LONG = os.environ.get("GMT_TEST_LONG")
ROUNDS = 1000 if LONG else 5
STEP = os.path.join(PROGRAMS, "step-writer")


def kill_once(seconds, options, place, is_full):
    """What is wrong; None when nothing is."""
    # That the program may go on without an event is the other tests' matter, but for a disk that is full.
    run = Killed(options=options if is_full else {"overflow": "wait", **options}, place=place)
    try:
        if run.memory is None:
            return f"no memory: {run.ready} {run.process.poll()}"
        time.sleep(seconds)
        run.kill()
        published = run.published()
        whole = os.path.join(tempfile.gettempdir(), f"whole.{os.getpid()}.gmt.gz")
        done = cli("recover", "-o", whole, run.file)
        if done.returncode or not os.path.exists(whole):
            return f"recover: {done.stdout}{done.stderr}"
        info = json.loads(cli("info", "--json", whole).stdout)
        # On a machine that is busy enough, and then it is counted: it says that nothing was published.
        if info["dropped"] and "to begin" in cli("dump", "--record=drop", whole).stdout:
            return None
        found = run.check(whole, *(["stopped"] if is_full else []))
        if not found.isdigit():
            return found
        counts = {row["tid"]: row["events"] for row in info["threads"]}
        if counts != published:
            return f"published {published}, recovered {counts}"
        # With a full disk the rings fill up, and what comes then is lost, each event counted.
        if not info["complete"] and not (is_full and info["dropped"]):
            return f"incomplete: {info['remarks']}"
        # The calls that the kill was in may have published their events, and have no note.
        accounted, calls = sum(counts.values()) + info["dropped"], run.calls()
        if not calls <= accounted <= calls + len(counts):
            return f"{calls} calls, {accounted} events recovered or counted as lost"
        if os.path.exists(run.memory.path):
            return "the memory is still there"
        return None
    finally:
        run.clear()


def series(count, *settings):
    options = dict(setting.split("=", 1) for setting in settings)
    seed = random.SystemRandom().randrange(1 << 32)
    choose = random.Random(seed)
    place = options.pop("place", None)
    is_full = bool(options.pop("full", ""))
    wrong = 0
    for number in range(count):
        # Most in the midst of the recording; some in its first moments.
        seconds = choose.choice((0, choose.random() * 0.02, choose.random() * 0.9))
        said = kill_once(seconds, options, place, is_full)
        if said:
            wrong += 1
            print(f"seed {seed}, kill {number} after {seconds:.4f} s: {said}")
    return 1 if wrong else 0


def in_small(mount, size, count, *settings):
    """A series in a mount namespace where `mount` is a small tmpfs; None where that cannot be had."""
    script = f'mount -t tmpfs -o size={size},mode=1777 none {mount} && exec "$@"'
    if subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True).returncode:
        return None
    return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", sys.executable, os.path.abspath(__file__), "series",
                           str(count), *settings], capture_output=True, text=True, timeout=7000)


class Steps(unittest.TestCase):
    def test_between_any_two_instructions_of_the_writer_a_kill_would_leave_every_event_once(self):
        run = Killed("bursts", threads=1)
        time.sleep(1)
        done = subprocess.run([STEP, run.file, run.memory.path, str(run.memory.pid), run.log, "2" if LONG else "1"],
                              capture_output=True, text=True, timeout=3600)
        if done.returncode == 77:
            self.skipTest(f"needs the right to trace: {done.stderr}")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        instructions, states = (int(word) for word in done.stdout.split() if word.isdigit())
        self.assertGreater(instructions, 10000)
        self.assertGreater(states, 5)


class Start(unittest.TestCase):
    def test_what_cannot_wait_for_a_slow_start_is_counted(self):
        run = Killed("return", 10, preload=[os.path.join(PROGRAMS, "libslow-start.so")])
        self.assertEqual(run.wait(), 0)
        # One thread begins the recording; the first calls of the three others do not wait that long.
        (drop,) = records(run.file, "drop")
        self.assertIn("to begin", drop["reason"])
        self.assertEqual(len(events(run.file)) + drop["count"], run.calls())


class Kills(unittest.TestCase):
    def check_series(self, done):
        if done is None:
            self.skipTest("needs the right to mount")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_published_event_is_recovered_and_none_invented_whenever_the_kill_comes(self):
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "series", str(ROUNDS)], capture_output=True,
                              text=True, timeout=7000)
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
