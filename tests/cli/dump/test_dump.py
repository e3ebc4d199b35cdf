# SPDX-License-Identifier: MIT
"""`dump` with a time range or a device shows the matching lines of the whole dump."""

import gzip
import json
import os
import subprocess
import unittest

import cli
import replay
import read_recording
import tasks
import write_recording as w
from definitions import Kind
from recording import CUDA, Story, train


def lines(path, *arguments, code=0):
    done = cli.run("dump", "--json", *arguments, path)
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines()


class Dump(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = cli.make("dump.gmt.gz", events=4000, threads=3, live=50)
        cls.whole = lines(cls.path)
        cls.rows = [json.loads(line) for line in cls.whole]
        cls.clock = replay.Clock(list(read_recording.read(cls.path)))
        cls.times = [
            cls.clock.time_ns(row["stamp"]) if "stamp" in row and row["record"] != "clock" else None for row in cls.rows
        ]
        cls.end = max(time for time in cls.times if time is not None)

    def within(self, start, until):
        return [line for line, time in zip(self.whole, self.times) if time is None or start <= time <= until]

    def test_a_time_range_shows_exactly_its_rows(self):
        exact = sorted(time for time in self.times if time)[len(self.times) // 3]
        seen = set()
        for start, until in (
            (0, self.end),
            (self.end // 4, self.end // 2),
            (exact, exact),
            (exact + 1, self.end // 2),
            (self.end, 10**16),
            (self.end + 1, 10**16),
            (self.end // 2, self.end // 4),
            (0, 0),
        ):
            with self.subTest(start=start, until=until):
                expected = self.within(start, until)
                seen.add(len(expected))
                self.assertEqual(lines(self.path, f"--from={start}", f"--until={until}"), expected)
        self.assertGreater(len(seen), 5)
        self.assertEqual(lines(self.path, f"--from={exact}"), self.within(exact, self.end))
        self.assertEqual(lines(self.path, f"--until={exact}"), self.within(0, exact))
        self.assertEqual(
            lines(self.path, f"--until={exact}", "--record=event"),
            [line for line in self.within(0, exact) if '"record":"event"' in line],
        )

    def test_a_time_range_may_count_from_the_unix_epoch(self):
        start = next(row["start_time_ns"] for row in self.rows if row["record"] == "process")
        middle = self.end // 2
        self.assertEqual(lines(self.path, f"--from={start + middle}"), lines(self.path, f"--from={middle}"))
        self.assertLess(len(lines(self.path, f"--from={start + middle}")), len(self.whole))

    def test_a_time_with_a_unit_is_never_a_date(self):
        path = self.write("unit.gmt.gz", self.events(1000, 2000))
        self.assertEqual(len(lines(path, "--record=event", "--from=99999h")), 0)
        self.assertEqual(len(lines(path, "--record=event", "--until=99999h")), 2)
        self.assertEqual(len(lines(path, "--record=event", f"--from={10**18 + 1500}")), 1)
        self.assertEqual(len(lines(path, "--record=event", f"--from={10**18 + 1500}ns")), 0)

    def test_a_moment_may_be_a_word_as_for_report(self):
        story = train(Story(), steps=6)
        story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=90 << 30, result=2)
        story.alloc(64 << 20, "/home/me/train.py:50 in late")
        path = story.write("words.gmt.gz")
        times, seen = {}, set()
        for word in "step:2", "peak", "oom", "end":
            times[word] = cli.report(path, f"--until={word}")["until_ns"]
            for option in "--from", "--until":
                shown = lines(path, "--record=event", f"{option}={word}")
                self.assertEqual(shown, lines(path, "--record=event", f"{option}={times[word]}"), word)
                seen.add(len(shown))
        self.assertGreater(len(seen), 4)
        both = lines(path, "--record=event", "--from=step:2", "--until=oom")
        self.assertEqual(both, lines(path, "--record=event", f"--from={times['step:2']}", f"--until={times['oom']}"))
        done = cli.run("dump", "--from=step:6", path)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("there is no step 6: the steps are 0 to 5", done.stderr)
        done = cli.run("dump", "--until=pea", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it takes 4s|step:N|peak|end|oom", done.stderr)

    def test_a_device_shows_its_rows_and_the_rows_without_a_device(self):
        for device in range(3):
            expected = [line for line, row in zip(self.whole, self.rows) if row.get("device", -2) in (device, -2)]
            self.assertEqual(lines(self.path, f"--device={device}"), expected)
        self.assertLess(len(expected), len(self.whole))
        both = lines(self.path, "--device=0", f"--until={self.end // 2}")
        first = set(lines(self.path, "--device=0"))
        self.assertEqual(both, [line for line in lines(self.path, f"--until={self.end // 2}") if line in first])

    def write(self, name, *blocks, cut=0):
        """Writes a recording of `blocks` with clocks that make a tick a nanosecond, and returns its path.

        `cut` removes so many bytes from the end of the decompressed content.
        """
        path = cli.place(name)
        w.write(
            path,
            w.process(start_stamp=0),
            w.block(
                "clock",
                {"stamp": 0, "monotonic_ns": 0, "realtime_ns": 10**18},
                {"stamp": 9000, "monotonic_ns": 9000, "realtime_ns": 10**18 + 9000},
            ),
            *blocks,
        )
        if cut:
            content = gzip.open(path).read()
            with gzip.open(path, "wb") as file:
                file.write(content[:-cut])
        return path

    @staticmethod
    def events(*stamps, device=0):
        return w.block(
            "event",
            *({**w.EVENT, "stamp": stamp, "address": stamp, "size_bytes": 1, "device": device} for stamp in stamps),
        )

    def test_dump_does_not_decode_blocks_outside_the_time_range(self):
        # The block's stamps are valid. The columns after them are not.
        stamps = w.column("D", [5000, 6000])
        broken = w.raw_block(w.NUMBERS["event"], 2, stamps + b"\x7f")
        path = self.write("broken.gmt.gz", self.events(1000, 2000), broken, self.events(8000))
        for arguments, events in (["--until=4999"], [1000, 2000]), (["--from=6001"], [8000]):
            self.assertEqual([json.loads(line)["stamp"] for line in lines(path, "--record=event", *arguments)], events)
        done = cli.run("dump", "--from=6000", "--record=event", path)
        self.assertIn("cannot be decoded", done.stderr)

    def test_dump_finds_unsorted_stamps_and_the_smallest_and_largest_stamps(self):
        path = self.write("odd.gmt.gz", self.events(7000, 10, 3000), self.events(2**64 - 1), self.events(0, device=-1))
        for arguments, stamps in (
            (["--from=2000", "--until=4000"], [3000]),
            (["--until=10"], [10, 0]),
            (["--from=9001"], [2**64 - 1]),
            (["--device=0"], [7000, 10, 3000, 2**64 - 1]),
            (["--device=1"], []),
            (["--device=65535"], []),
        ):
            self.assertEqual(
                [json.loads(line)["stamp"] for line in lines(path, "--record=event", *arguments)], stamps, arguments
            )

    def test_dump_shows_a_cut_file_up_to_the_cut(self):
        path = self.write("cut.gmt.gz", self.events(1000), self.events(2000), self.events(3000), cut=5)
        done = cli.run("dump", "--strict", "--record=event", "--json", "--from=1500", path)
        self.assertEqual(
            (done.returncode, [json.loads(line)["stamp"] for line in done.stdout.splitlines()]), (4, [2000])
        )
        self.assertIn("it ends in the middle", done.stderr)

    def test_a_time_range_refuses_a_pipe(self):
        pipe = cli.place("pipe")
        os.mkfifo(pipe)
        done = cli.run("dump", "--from=1", pipe)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--from and --until read it twice", done.stderr)
        for path in (cli.place("nothing"), cli.FOLDER):
            self.assertEqual(cli.run("dump", "--until=1", path).returncode, cli.run("dump", path).returncode)

    def test_dump_opens_a_pipe_once(self):
        pipe = cli.place("once")
        os.mkfifo(pipe)
        for _ in range(5):
            with subprocess.Popen(["cp", self.path, pipe]) as writer:
                # The writer goes on when a reader opens the pipe, and ends when the reader closes it.
                tasks.wait_until(lambda: tasks.sleep_count(writer.pid, writer.pid), "a writer that waits for a reader")
                self.assertEqual(lines(pipe), self.whole)
            self.assertEqual(writer.returncode, 0)

    def test_without_clocks_a_tick_is_a_nanosecond(self):
        path = cli.place("no-clocks.gmt.gz")
        w.write(path, w.process(start_stamp=1000), self.events(1500, 2500))
        self.assertEqual(len(lines(path, "--record=event", "--from=500", "--until=1499")), 1)


if __name__ == "__main__":
    cli.main()
