# SPDX-License-Identifier: MIT
"""The pages about the format, the tables in C and the independent reader agree."""

import json
import os
import re
import unittest

import cli
import read_recording
import write_recording as w
from definitions import Kind, Layer

SOURCE = cli.SOURCE
TYPES = {
    "uint8_t": 8,
    "uint16_t": 16,
    "int16_t": 16,
    "uint32_t": 32,
    "int32_t": 32,
    "uint64_t": 64,
    "int64_t": 64,
    "struct gmt_slice": 0,
    "struct gmt_list": 64,
}


def lines(*parts):
    with open(os.path.join(SOURCE, *parts), encoding="utf-8") as file:
        return file.read()


def definition():
    """Returns the records of records.def in the form of read_recording."""
    text = lines("src", "format", "records.def")
    records = {}
    for number, name in re.findall(r"^GMT_RECORD\((\d+), (\w+),", text, re.M):
        fields = re.findall(rf"^GMT_FIELD\({name}, (\w+), (\w), ([\w ]+),", text, re.M)
        records[int(number)] = (name, tuple((field, kind, TYPES[kind_in_c]) for field, kind, kind_in_c in fields))
    return records


def pages():
    """Returns the text of the pages in docs/internals/recording-format, which describe the records."""
    folder = os.path.join(SOURCE, "docs", "internals", "recording-format")
    return "\n".join(lines(folder, name) for name in sorted(os.listdir(folder)))


def document():
    """Returns the tables of these pages in the form of read_recording."""
    records = {}
    for number, name, part in re.findall(r"^## (\d+) `(\w+)`(.*?)(?=^#|\Z)", pages(), re.M | re.S):
        assert int(number) not in records, number
        table = part.split("| field | encoding | bits | |")[1].split("\n\n")[0]
        fields = re.findall(r"^\| `(\w+)` \| (\w) \| ?(\d*) \|", table, re.M)
        records[int(number)] = (name, tuple((field, kind, int(bits or 0)) for field, kind, bits in fields))
    return records


class Format(unittest.TestCase):
    def test_the_document_has_every_record_and_field_as_the_definition_has_it(self):
        self.assertEqual(document(), definition())

    def test_the_first_page_names_each_record_once(self):
        rows = re.findall(r"^\| \[\w+\.md\].*", lines("docs", "internals", "recording-format.md"), re.M)
        named = re.findall(r"(\d+) `(\w+)`", "\n".join(rows))
        self.assertEqual(sorted(named), sorted((str(number), name) for number, (name, _) in definition().items()))

    def test_the_reader_written_from_the_document_has_them_too(self):
        self.assertEqual(read_recording.RECORDS, document())

    def test_the_document_has_every_layer_space_and_kind(self):
        text = pages()
        for table in ("layers", "spaces", "event_kinds", "mark_kinds", "mark_sources"):
            rows = re.findall(
                r'^GMT_\w+\((\d+), \w+, "(\w+)"(?:, (DEVICE|HOST))?', lines("src", "format", f"{table}.def"), re.M
            )
            self.assertTrue(rows)
            for number, name, side in rows:
                self.assertIn(f"| {number} | `{name}` |" + (f" {side.lower()} |" if side else ""), text)

    def check_dump(self, path):
        expected = [
            {key: value.decode("utf-8", "replace") if isinstance(value, bytes) else value for key, value in row.items()}
            for row in read_recording.read(path)
        ]
        done = cli.run("dump", "--json", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], expected)
        self.assertEqual(len(cli.run("dump", path).stdout.splitlines()), len(expected))

    def test_dump_prints_what_the_independent_reader_reads(self):
        self.check_dump(cli.make("one.gmt.gz", events=5000, threads=4, rank=3, drop=2))

    def test_each_old_version_can_be_read(self):
        for version in "1", "1.1", "1.2", "1.3":
            self.check_dump(os.path.join(cli.TESTS, "golden", f"version-{version}.gmt"))

    def test_the_report_of_the_first_version_stays_the_same(self):
        path = os.path.join(cli.TESTS, "golden", "version-1.gmt")
        report = cli.report(path)
        del report["file"]
        golden = os.path.join(cli.TESTS, "golden", "version-1.report.json")
        if os.environ.get("GMT_TEST_UPDATE"):
            with open(golden, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
        with open(golden, encoding="utf-8") as file:
            expected = json.load(file)
        # New keys may come. Old keys keep their values.
        self.assertEqual(only_keys_of(report, expected), expected)

    def test_dump_of_odd_text_is_one_line_in_both_forms(self):
        path = cli.place("odd.gmt.gz")
        w.write(path, w.process(host=b'\xff\xfe"\\\n\x1b[31m\x00', executable="\u00e4\U0001f600"))
        done = cli.run("dump", path)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn(r'host="\xff\xfe\"\\\x0a\x1b[31m\x00"', done.stdout)
        row = json.loads(cli.run("dump", "--json", path).stdout)
        self.assertEqual(row["host"], '\ufffd\ufffd"\\\n\x1b[31m\x00')
        self.assertEqual(row["executable"], "\u00e4\U0001f600")

    def test_several_gzip_members_are_one_stream(self):
        path = cli.place("members.gmt.gz")
        w.write(path, w.process())
        with open(path, "ab") as file:
            file.write(w.gzip.compress(w.end(0)))
        self.assertTrue(cli.report(path)["complete"])

    def test_the_reader_skips_additions_of_a_newer_minor_version(self):
        path = cli.place("newer.gmt.gz")
        row = {
            "stamp": 5,
            "thread": 1,
            "kind": Kind.ALLOC,
            "layer": Layer.CUDA,
            "space": 200,
            "device": 0,
            "address": 64,
            "size_bytes": 10,
        }
        known = w.block("event", row)[16:]
        w.write(
            path,
            w.process(),
            w.raw_block(4711, 2, b"anything"),
            w.raw_block(11, 1, known + b"\x03\x01\x02\x03"),
            w.block("event", {**row, "layer": 7}),
            w.end(2),
            head=w.header(minor=9),
        )
        report = cli.report(path)
        self.assertEqual(report["devices"][0]["layers"][0]["spaces"][0]["space"], "space-200")
        self.assertEqual(report["devices"][0]["layers"][0]["live_bytes"], 10)
        self.assertEqual(report["events"]["recorded"], 2)
        self.assertFalse(report["complete"])
        self.assertIn("1 events of a kind that this version does not know were ignored", report["remarks"])


def only_keys_of(value, model):
    if isinstance(model, dict):
        return {key: only_keys_of(value[key], model[key]) for key in model if key in value}
    if isinstance(model, list) and len(value) == len(model):
        return [only_keys_of(one, other) for one, other in zip(value, model)]
    return value


if __name__ == "__main__":
    cli.main()
