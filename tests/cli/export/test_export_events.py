# SPDX-License-Identifier: MIT
"""`export --format=ndjson`: events as JSON, whose sums are the numbers of the report."""

import collections
import json
import unittest

import cli
import exports


def read(path, *options):
    return [json.loads(line) for line in exports.export("ndjson", path, *options).decode("utf-8").splitlines()]


def of_type(lines, *types):
    return [line for line in lines if line["type"] in types]


def numbers(lines):
    """Returns the numbers of a report, from the events, for each layer and device."""
    found = collections.defaultdict(collections.Counter)
    for line in of_type(lines, "alloc", "free", "refused"):
        row, size = found[line["layer"], line["device"]], line["size_bytes"]
        sign = {"alloc": 1, "free": -1, "refused": 0}[line["type"]]
        row["left_bytes"] += sign * size
        row["left_blocks"] += sign
        row["peak_bytes"] = max(row["peak_bytes"], row["left_bytes"])
        row["alloc_count"] += sign == 1
        row["free_count"] += sign == -1
        row["refused_count"] += sign == 0
        row["total_alloc_bytes"] += size if sign == 1 else 0
        assert sign == 0 or line["live_bytes"] == row["left_bytes"], line
    return found


class Ndjson(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("events.gmt.gz")

    def test_events_sum_to_the_numbers_of_the_report(self):
        made = cli.make("events-made.gmt.gz", events=3000, torch=1, devices=3, depth=5)
        for path in (self.path, made):
            found = numbers(read(path))
            for key, row in exports.accounts(path).items():
                expected = {name: row[name] for name in found[key]}
                self.assertEqual(dict(found[key]), expected, key)
                self.assertEqual(len(expected), 7)

    def test_one_layer_device_and_stretch_can_be_chosen(self):
        lines = read(self.path, "--layer=torch", "--device=0", "--from=step:1", "--until=step:3")
        row = exports.stretch(self.path, "--from=step:1", "--until=step:3")["torch", 0]
        self.assertEqual(len(of_type(lines, "alloc")), row["allocs"])
        self.assertEqual(len(of_type(lines, "free")), row["frees"])
        self.assertEqual(sum(line["size_bytes"] for line in of_type(lines, "alloc")), row["alloc_bytes"])
        self.assertEqual({line["layer"] for line in of_type(lines, "alloc", "free")}, {"torch"})

    def test_each_type_has_its_documented_keys(self):
        page = cli.read_source("docs", "data", "ndjson.md")
        lines = read(self.path)
        documented = {}
        for row in page.splitlines():
            cells = [cell.strip() for cell in row.split("|")[1:-1]]
            if len(cells) == 2 and cells[0].startswith("`") and cells[1].startswith("`"):
                for kind in cells[0].split(", "):
                    documented[kind.strip("`")] = {key.strip(" `") for key in cells[1].split(",")}
        self.assertEqual({line["type"] for line in lines}, set(documented))
        for line in lines:
            self.assertEqual(set(line) - {"type"}, documented[line["type"]], line)

    def test_a_stack_comes_before_its_events_and_names_are_whole(self):
        stacks = {}
        for line in read(self.path):
            if line["type"] == "stack":
                self.assertNotIn(line["id"], stacks)
                stacks[line["id"]] = line["stack"]
            elif "stack" in line:
                self.assertIn(line["stack"], stacks)
        names = [frame["function"] for stack in stacks.values() for frame in stack]
        self.assertIn(exports.HOSTILE.decode("utf-8", "replace"), names)

    def test_blocks_know_their_step_phase_and_lifetime(self):
        lines = read(self.path, "--layer=torch", "--device=0")
        forward = [line for line in of_type(lines, "alloc") if line["phase"] == "forward"]
        self.assertEqual([line["step"] for line in forward], list(range(6)))
        ends = {line["address"]: line for line in of_type(lines, "free")}
        first = forward[0]
        self.assertEqual(
            of_type(lines, "free")[0]["lifetime_ns"],
            next(one for one in of_type(lines, "free"))["time_ns"] - first["time_ns"],
        )
        self.assertIn(first["address"], ends)
        self.assertEqual([line["step"] for line in of_type(lines, "step")], list(range(6)))

    def test_compacted_events_are_missing_and_a_line_says_so(self):
        done = cli.run("fold", "--force", "-o", "less-events.gmt.gz", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = cli.run("export", "--format=ndjson", "-o", "x.ndjson", "less-events.gmt.gz")
        self.assertRegex(done.stderr, r"^gpumemtrace: warning: .*folded events are not included.*\n$")


if __name__ == "__main__":
    cli.main()
