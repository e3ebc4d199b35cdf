# SPDX-License-Identifier: MIT
"""gpumemtrace summarize: the file, compared with its document and with the report of the recording."""

import os
import re
import unittest
import zlib

import cli
import job_story
from job_story import number_of, varint, write_rank
from recording import MiB, train

DOCUMENT = cli.read_source("docs", "internals", "summary-format.md")


def lines_of_definition():
    """Returns the records of summary_records.def as pairs of a name and (field, encoding) pairs."""
    text = cli.read_source("src", "format", "summary_records.def")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    records = {}
    for number, name in re.findall(r"^GMT_RECORD\((\d+), (\w+),", text, re.M):
        fields = re.findall(rf"^GMT_FIELD\({name}, (\w+), (\w),", text, re.M)
        records[int(number)] = (name, fields)
    return records


def records_of_document():
    records = {}
    for number, name, table in re.findall(r"^### (\d+) `(\w+)`.*?\n\n((?:\|.*\n)+)", DOCUMENT, re.M):
        fields = re.findall(r"^\| `(\w+)` \| (\w) \|", table, re.M)
        records[int(number)] = (name, fields)
    return records


def rows_of(path, name):
    """Returns the rows of a record of a summary, read by the document."""
    (number,) = (number for number, (record, _fields) in records_of_document().items() if record == name)
    blocks = [block for kind, block in job_story.blocks_of(path)[1] if kind == number]
    if not blocks:
        return []
    (block,) = blocks
    count, at, rows = int.from_bytes(block[4:8], "little"), job_story.BLOCK_HEADER_BYTES, []
    rows = [{} for _ in range(count)]
    for field, encoding in records_of_document()[number][1]:
        length, at = varint(block, at)
        end, before = at + length, 0
        for row in rows:
            value, at = varint(block, at)
            if encoding == "S":
                row[field], at = block[at : at + value].decode(), at + value
                continue
            if encoding in "ID":
                value = value >> 1 ^ -(value & 1)
            if encoding == "D":
                value = before = (before + value) % 2**64
            row[field] = value
        assert at == end, (name, field)
    return rows


class Format(unittest.TestCase):
    def test_the_document_has_the_records_of_the_definition(self):
        self.assertEqual(records_of_document(), lines_of_definition())

    def test_the_document_has_the_ends_of_processes(self):
        text = cli.read_source("src", "format", "process_ends.def")
        names = re.findall(r'^GMT_PROCESS_END\(\w+, "(\w+)"', text, re.M)
        self.assertEqual(re.findall(r"^\| \d+ \| `(\w+)` \|", DOCUMENT, re.M), names)

    def test_a_file_begins_with_the_documented_header_and_blocks_have_checksums(self):
        header, blocks = job_story.blocks_of(job_story.summary(write_rank(0, 1, "format")))
        self.assertEqual(header[:12], b"GMTSUMM\n\x01\x00\x00\x00")
        self.assertEqual(zlib.crc32(header[:16]).to_bytes(4, "little"), header[16:20])
        for _kind, block in blocks:
            self.assertEqual(zlib.crc32(block[16:], zlib.crc32(block[:12])).to_bytes(4, "little"), block[12:16])
        self.assertEqual([blocks[0][0], blocks[1][0], blocks[-1][0]], [64, number_of("process"), 72])

    def test_the_last_record_counts_the_rows_before_it(self):
        path = job_story.summary(write_rank(0, 1, "rows"))
        counts = [int.from_bytes(block[4:8], "little") for _kind, block in job_story.blocks_of(path)[1]]
        self.assertEqual(rows_of(path, "summary_end"), [{"rows": sum(counts[:-1])}])


class Content(unittest.TestCase):
    def test_peaks_and_lines_are_those_of_report(self):
        path = write_rank(3, 4, "content", leak=MiB)
        report, summary = cli.report(path, "--by", "line"), job_story.summary(path)
        (account,) = rows_of(summary, "summary_account")
        overview = report["overview"]
        self.assertEqual(
            (account["peak_bytes"], account["peak_time_ns"], account["peak_step_plus_1"] - 1),
            (overview["peak_bytes"], overview["peak_time_ns"], overview["step"]),
        )
        lines = {row["line"]: row["peak_bytes"] for row in rows_of(summary, "summary_place")}
        expected = {site["stack"][site["own_frame"]]["line"]: 0 for site in report["sites"]}
        for site in report["sites"]:
            expected[site["stack"][site["own_frame"]]["line"]] += site["peak_bytes"]
        self.assertEqual(lines, expected)

    def test_findings_are_those_of_leaks(self):
        path = write_rank(3, 4, "findings", leak=MiB)
        (leaks,) = cli.reports("leaks", path)
        rows = rows_of(job_story.summary(path), "summary_finding")
        self.assertEqual(
            [(row["definition"], row["bytes"], row["step_bytes"], row["first_step"]) for row in rows],
            [
                (leak["definition"], leak["bytes"], round(leak["bytes_per_step"]), leak["first_step"])
                for leak in leaks["leaks"]
            ],
        )
        self.assertEqual(rows[0]["line"], 32)

    def test_the_curve_keeps_the_maximum_of_merged_steps(self):
        story = job_story.rank_story(0, 1)

        def body(number):
            story.free(story.alloc((1 + number % 3 + 100 * (number == 777)) * MiB, "/home/me/a.py:1 in f"))

        story.steps(1000, body)
        path = job_story.summary(story.write("curve.gmt.gz"))
        rows = rows_of(path, "summary_steps")
        self.assertEqual(len(rows), 125)
        self.assertEqual({after["first_step"] - row["first_step"] for row, after in zip(rows, rows[1:])}, {8})
        self.assertEqual(
            [row["peak_bytes"] for row in rows if row["first_step"] <= 777 < row["first_step"] + 8], [101 * MiB]
        )

    def test_the_curve_by_time_of_a_compacted_recording_has_only_the_time_that_its_events_cover(self):
        story = job_story.rank_story(0, 1)
        for number in range(200):
            story.alloc((1 + number % 5) * MiB, "/home/me/a.py:1 in f")
        path, compacted = story.write("whole_curve.gmt.gz"), cli.place("compacted_curve.gmt.gz")
        self.assertEqual(cli.run("fold", path, "--keep-events=50", "-o", compacted).returncode, 0)
        whole, kept = (rows_of(job_story.summary(name), "summary_times") for name in (path, compacted))
        # The events of the last sixth of the time are kept. The interval that contains the cut is not known either.
        self.assertTrue(64 / 6 - 2 < len(kept) < 64 / 6, len(kept))
        self.assertEqual(kept, whole[-len(kept) :])

    def test_lines_beyond_the_limit_are_counted_and_the_largest_stay(self):
        story = job_story.rank_story(0, 1)
        for number in range(600):
            story.alloc((number + 1) * 512, f"/home/me/a.py:{number + 1} in f")
        path = job_story.summary(train(story).write("lines.gmt.gz"))
        (head,), places = rows_of(path, "summary_head"), rows_of(path, "summary_place")
        self.assertEqual((len(places), head["left_out_places"]), (512, 602 - 512))
        self.assertEqual(min(max(row["peak_bytes"], row["end_bytes"]) for row in places), head["left_out_bytes"] + 512)

    def test_a_long_training_has_a_summary_of_at_most_50_kilobytes(self):
        path = cli.make("long.gmt.gz", events=300000, sites=3000, depth=20, live=5000, steps=1, torch=1, rank=0)
        self.assertLess(os.path.getsize(job_story.summary(path)), 50 << 10)


class Output(unittest.TestCase):
    def test_a_summary_lies_next_to_its_recording_or_where_output_says(self):
        path = write_rank(0, 1, "output")
        self.assertEqual(cli.run("summarize", path).returncode, 0)
        self.assertEqual(cli.run("summarize", path, "-o", "else.gz").returncode, 0)
        with open(cli.place("output/train.r0.summary.gz"), "rb") as one, open(cli.place("else.gz"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_a_recording_is_not_replaced(self):
        path = write_rank(0, 1, "replaced")
        size = os.path.getsize(path)
        done = cli.run("summarize", path, "-o", path)
        self.assertEqual((done.returncode, os.path.getsize(path)), (3, size))

    def test_wrong_command_lines_are_said_in_one_line(self):
        path = write_rank(0, 1, "wrong")
        for arguments in (), (path, path, "-o", "x"):
            done = cli.run("summarize", *arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))

    def test_a_file_that_is_no_recording_leaves_no_summary_and_the_others_get_theirs(self):
        path = write_rank(0, 1, "bad")
        with open(cli.place("bad/b.gmt.gz"), "wb") as file:
            file.write(b"no recording")
        done = cli.run("summarize", cli.place("bad/b.gmt.gz"), path)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
        self.assertEqual(sorted(os.listdir(cli.place("bad"))), ["b.gmt.gz", "train.r0.gmt.gz", "train.r0.summary.gz"])

    def test_fold_keeps_the_place_in_the_job(self):
        path, compacted = write_rank(2, 4, "compacted"), cli.place("compacted/compacted.gmt.gz")
        self.assertEqual(cli.run("fold", path, "-o", compacted).returncode, 0)
        environment = number_of("environment")
        blocks = [dict(job_story.blocks_of(job_story.summary(name))[1]) for name in (path, compacted)]
        self.assertEqual(blocks[0][environment], blocks[1][environment])


if __name__ == "__main__":
    cli.main()
