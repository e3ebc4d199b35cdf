# SPDX-License-Identifier: MIT
"""`dump` skips members of a file by their descriptions. It shows the same as --strict, which reads all members."""

import itertools
import random
import struct
import unittest

import cli
import members
import read_recording
import replay
import write_recording as w
from definitions import MarkKind, MarkSource

MEMBERS = 12
SPAN = 10**11  # ticks in a member; a tick is about a nanosecond, so a member lasts more than a second
EPOCH = 10**18


def lines(path, *arguments):
    done = cli.run("dump", "--json", *arguments, path)
    return done.returncode, done.stdout.splitlines(), done.stderr


def clock(at):
    """Returns a clock block. The clock's rate varies, so only the two clocks around a stamp give its exact time."""
    monotonic_ns = at + at // 7 + (3 * at // SPAN) ** 2 % 7 * 10**8
    return w.block("clock", {"stamp": at, "monotonic_ns": monotonic_ns, "realtime_ns": EPOCH + at})


def event(stamp, device):
    return {**w.EVENT, "stamp": stamp, "address": stamp + 1, "size_bytes": 1, "device": device}


def group(index, has_clocks=True):
    """Returns the blocks of one member. Member 7 has a late event. Only some members have marks or names."""
    draw = random.Random(index)
    start = index * SPAN
    stamps = [start + draw.randrange(SPAN) for _ in range(20)] + ([start - SPAN * 2] if index == 7 else [])
    blocks = [w.process(start_stamp=SPAN // 9), clock(0)] if index == 0 else []
    blocks.append(w.block("event", *(event(stamp, (index // 3) % 3 - (index == 5)) for stamp in stamps)))
    if index % 4 == 1:
        blocks.append(w.block("mark", w.mark(start + 5, MarkKind.STEP, MarkSource.PROGRAM)))
    if index % 5 == 2:
        blocks.append(w.block("name", {"id": index, "text": f"n{index}"}))
    if has_clocks:
        blocks += [clock(start + SPAN // 2), clock(start + SPAN - 1)]
    return [*blocks, w.block("sync", {"stamp": start + SPAN, "events": 20 * (index + 1)})]


class DumpMembers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = cli.place("members.gmt.gz")
        cls.groups = [group(index) for index in range(MEMBERS)]
        members.write(cls.path, *cls.groups)

    def check(self, path, *arguments):
        code, whole, said = lines(path, "--strict", *arguments)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(lines(path, *arguments), (0, whole, ""), arguments)
        return len(whole)

    def test_a_time_range_shows_the_same_rows_as_with_strict(self):
        ends = [
            None,
            0,
            1,
            SPAN,
            SPAN * 3 + SPAN * 3 // 7,
            SPAN * 5,
            SPAN * 9 + 17,
            SPAN * 12,
            SPAN * 14,
            SPAN * 40,
            EPOCH + SPAN * 4,
        ]
        counts = set()
        for start, until in itertools.product(ends, ends):
            for records in ([], ["event"], ["mark", "event"], ["clock"], ["name"]):
                counts.add(
                    self.check(
                        self.path,
                        *([f"--from={start}"] if start is not None else []),
                        *([f"--until={until}"] if until is not None else []),
                        *(f"--record={name}" for name in records),
                    )
                )
        self.assertGreater(len(counts), 20)

    def check_moments(self, path):
        rows = list(read_recording.read(path))
        clock = replay.Clock(rows)
        for row in [row for row in rows if row["record"] == "event"][::7]:
            time = clock.time_ns(row["stamp"])
            self.assertGreaterEqual(self.check(path, f"--from={time}", f"--until={time}", "--record=event"), 1)

    def test_the_two_clocks_around_an_event_give_its_time(self):
        self.check_moments(self.path)

    def test_a_device_shows_the_same_rows_as_with_strict(self):
        counts = [
            self.check(self.path, f"--device={device}", "--record=event") for device in (0, 1, 2, 3, 62, 70000, 2**40)
        ]
        self.assertGreater(len(set(counts)), 2)
        self.check(self.path, "--device=1", f"--until={SPAN * 4}", "--record=event", "--record=name")

    def test_the_two_clocks_around_a_gap_give_the_times_in_it(self):
        path = cli.place("gap.gmt.gz")
        members.write(path, *(group(index) for index in (0, 1, 2, 3, 30, 31, 32, 33)))
        for start in range(SPAN * 4, SPAN * 40, SPAN * 3):
            self.check(path, f"--from={start}", f"--until={start + SPAN}", "--record=event")
            self.check(path, f"--from={start}", "--record=event")
            self.check(path, f"--until={start}", "--record=event")
        self.check_moments(path)

    def test_the_two_clocks_around_an_event_give_its_time_when_many_members_have_no_clocks(self):
        path = cli.place("few-clocks.gmt.gz")
        # Only every fourth member has later clocks. The first member has one clock.
        members.write(path, *(group(index, has_clocks=index % 4 == 3) for index in range(MEMBERS)))
        self.check_moments(path)

    def damage(self, name, number):
        """Writes a copy of the file with damage in the compressed data of member `number`, and returns its path."""
        path = cli.place(name)
        with open(self.path, "rb") as file:
            parts = [part for part, _content in members.split(file.read())]
        middle = len(parts[number]) - 60
        parts[number] = (
            parts[number][:middle]
            + bytes(byte ^ 0xFF for byte in parts[number][middle : middle + 8])
            + parts[number][middle + 8 :]
        )
        with open(path, "wb") as file:
            file.write(b"".join(parts))
        return path

    def test_dump_does_not_decompress_members_outside_the_time_range(self):
        path = self.damage("damaged.gmt.gz", 3)
        expected = ("--record=event", f"--from={SPAN * 10}", f"--until={SPAN * 11}")
        self.assertEqual(lines(path, *expected), lines(self.path, *expected))
        self.assertTrue(lines(path, *expected)[1])
        self.assertEqual(lines(path, "--record=name")[0], 0)
        code, _rows, said = lines(path, "--strict", *expected)
        self.assertEqual(code, 4)
        self.assertIn("damaged", said)
        # A time range inside the damaged member reports the damage.
        self.assertIn("damaged", lines(path, "--record=event", f"--from={SPAN * 7 // 2}", f"--until={SPAN * 4}")[2])

    def test_dump_ignores_a_description_of_another_member(self):
        # A compaction rewrites the member in front of a description. Here both versions have the same length.
        head = members.member(w.header() + b"".join(self.groups[0]))
        first, second = (members.member(w.block("event", event(5, device)), level=0) for device in (0, 2))
        self.assertEqual((len(first), first[-4:]), (len(second), second[-4:]))
        extra = members.extra_of(first, members.describe([{"record": "event", **event(5, 0)}]))
        behind = members.member(b"".join(self.groups[1]), extra)
        path = cli.place("other.gmt.gz")
        for middle, count in (first, 0), (second, 1):
            with open(path, "wb") as file:
                file.write(head + middle + behind)
            self.assertEqual(self.check(path, "--device=2", "--record=event"), count)

    def test_dump_does_not_follow_descriptions_with_wrong_member_sizes(self):
        for size in (0, 1, 17, 10**6, 2**64 - 1):
            path = cli.place("lie.gmt.gz")
            one = members.member(w.header() + b"".join(self.groups[0]))
            extra = members.EXTRA_HEAD + one[-8:] + struct.pack("<Q7Q", size, *members.describe([]))
            two = members.member(b"".join(self.groups[1]), extra)
            with open(path, "wb") as file:
                file.write(one + two)
            self.check(path, "--record=event", f"--from={SPAN * 12}")

    def test_dump_ignores_content_that_looks_like_a_description(self):
        path = cli.place("looks.gmt.gz")
        looks = members.MEMBER_HEAD + bytes((4, 3)) + struct.pack("<H", 76) + members.EXTRA_HEAD + bytes(72)
        noise = [w.block("note", {"text": looks * 3 + random.Random(1).randbytes(300)})]
        w.write(path, *self.groups[0], *noise, *self.groups[1])
        self.check(path, "--record=event", f"--from={SPAN}")
        # The bytes stand uncompressed, directly after the last member's trailer.
        with open(path, "ab") as file:
            file.write(looks)
        self.assertEqual(lines(path, "--record=sync")[1], lines(self.path, "--record=sync")[1][:2])


if __name__ == "__main__":
    cli.main()
