# SPDX-License-Identifier: MIT
"""diff: every row and every sum equals a replay that shares no code with it; a mistake is one clear line."""

import collections
import json
import os
import shutil
import unittest

import cli
import read_recording
import replay
import write_recording as w

KEYS = {"peak": "peak_bytes", "live": "live_bytes", "total": "total_bytes"}
MIB = 1 << 20


def diff(base, new, *arguments, code=0):
    done = cli.run("diff", "--json", *arguments, base, new)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def own_names(path):
    """Returns, by id of a Python stack, the innermost frame outside of packages, as FILE:FUNCTION."""
    rows = list(read_recording.read(path))
    directory = next(row["directory"] for row in rows if row["record"] == "process").decode() + "/"
    codes = {row["id"]: row for row in rows if row["record"] == "code"}
    frames = {row["id"]: codes[row["code"]] for row in rows if row["record"] == "frame"}
    names = {}
    for row in rows:
        if row["record"] == "frames":
            code = next(
                code for code in (frames[item >> 1] for item in row["items"]) if b"-packages/" not in code["file"]
            )
            names[row["id"]] = code["file"].decode().removeprefix(directory) + ":" + code["function"].decode()
    return names


def expected_amounts(path):
    """Replays a recording slowly. Returns the amounts of each account, and of each (account, name of a site)."""
    accounts, _, sites = replay.replay(path)
    names, rows = own_names(path), collections.defaultdict(collections.Counter)
    for (layer, device, _space, _stack, frames), totals in sites.items():
        row = rows[(layer, device), names[frames]]
        for name, key in (
            ("peak_bytes", "peak_bytes"),
            ("live_bytes", "live_bytes"),
            ("allocs", "alloc_count"),
            ("live_blocks", "live_blocks"),
            ("total_bytes", "total_alloc_bytes"),
            ("frees", "free_count"),
        ):
            row[name] += totals[key]
    return accounts, rows


def account_key(account):
    return account["layer"], replay.HOST if account["device"] is None else account["device"]


def story(name, allocs, file="/home/me/train.py", device=0, **process):
    """Writes blocks that live to the end. Each is (function or function@file, line, bytes) and called by main."""
    functions = sorted({function for function, _, _ in allocs})
    places = sorted({(function, line) for function, line, _ in allocs})
    codes = [{"id": 1, "function": "main", "file": file}] + [
        {
            "id": functions.index(function) + 2,
            "function": function.partition("@")[0],
            "file": f"/home/me/{function.partition('@')[2]}" if "@" in function else file,
        }
        for function in functions
    ]
    frames = [{"id": 1, "code": 1, "line": 99}] + [
        {"id": i + 2, "code": functions.index(function) + 2, "line": line} for i, (function, line) in enumerate(places)
    ]
    events = [
        {
            **w.EVENT,
            "stamp": 2000 + i,
            "device": device,
            "address": 4096 * i + 4096,
            "size_bytes": size,
            "frames": places.index((function, line)) + 1,
        }
        for i, (function, line, size) in enumerate(allocs)
    ]
    w.write(
        cli.place(name),
        w.process(**process),
        w.block("code", *codes),
        w.block("frame", *frames),
        w.block("frames", *({"id": i + 1, "items": [2 * (i + 2), 3]} for i in range(len(places)))),
        w.block("event", *events),
        w.end(len(events)),
    )
    return cli.place(name)


class Numbers(unittest.TestCase):
    def check_sums(self, result):
        """Checks that shown and hidden rows sum to the account in the chosen key, and all rows in every key."""
        key = KEYS[result["sort"]]
        for account in result["accounts"]:
            rows, hidden = account["rows"], account["hidden"]
            self.assertEqual(
                sum(row[key]["difference"] for row in rows) + hidden["difference"], account[key]["difference"]
            )
            self.assertEqual(len(rows) + hidden["rows"], sum(account["changes"].values()))
            for name in ("peak_bytes", "peak_blocks", "live_bytes", "live_blocks", "total_bytes", "allocs", "frees"):
                pair = account[name]
                self.assertEqual(pair["new"] - pair["base"], pair["difference"])
                for side in ("base", "new") if not hidden["rows"] else ():
                    self.assertEqual(sum(row[name][side] for row in rows), pair[side], name)

    def test_every_number_equals_an_independent_replay(self):
        for seed in range(3):
            base = cli.make(f"base{seed}.gmt.gz", seed=seed, events=2500, threads=1 + seed, live=30, sites=8)
            new = cli.make(f"new{seed}.gmt.gz", seed=seed + 9, events=2500, live=50, sites=12)
            result = diff(base, new)
            self.check_sums(result)
            sides = {"base": expected_amounts(base), "new": expected_amounts(new)}
            seen = set()
            for account in result["accounts"]:
                for side, (accounts, rows) in sides.items():
                    totals = accounts[account_key(account)]
                    self.assertEqual(account["peak_bytes"][side], totals["peak_bytes"])
                    self.assertEqual(account["live_bytes"][side], totals["live_bytes"])
                    self.assertEqual(account["total_bytes"][side], totals["total_alloc_bytes"])
                    for row in account["rows"]:
                        seen.add((account_key(account), row["site"]))
                        for name, value in rows[account_key(account), row["site"]].items():
                            self.assertEqual(row[name][side], value, (row["site"], name))
            self.assertEqual(seen, set(sides["base"][1]) | set(sides["new"][1]))

    def test_every_way_to_compare_adds_up(self):
        base, new = (cli.make(f"ways{seed}.gmt.gz", seed=seed, events=3000, depth=3) for seed in (1, 2))
        for by in "group", "stack", "line", "operator", "module", "library", "owner", "category", "part":
            for sort in KEYS:
                for more in [], ["--threshold=300K"], ["--limit=2"], ["--threshold=1T"]:
                    with self.subTest(by=by, sort=sort, more=more):
                        self.check_sums(diff(base, new, f"--by={by}", f"--sort={sort}", *more))

    def test_grouped_rows_equal_those_of_the_report(self):
        base, new = (cli.make(f"common{seed}.gmt.gz", seed=seed, events=3000, depth=3) for seed in (1, 2))
        for by in "operator", "module", "library", "owner", "category", "part":
            result = diff(base, new, f"--by={by}")
            for side, path in ("base", base), ("new", new):
                (table,) = [table["rows"] for table in cli.report(path, "--by", by)["tables"] if table["by"] == by]
                expected = {
                    (account_key(row), row["name"] or ""): row["peak_bytes"]
                    for row in table
                    if row["layer"] != "driver"
                }
                found = {
                    (account_key(account), row["site"]): row["peak_bytes"][side]
                    for account in result["accounts"]
                    for row in account["rows"]
                }
                self.assertEqual(
                    {key: size for key, size in found.items() if size},
                    {key: size for key, size in expected.items() if size},
                )

    def test_stacks_of_one_function_are_separate_rows(self):
        base, new = (cli.make(f"apart{seed}.gmt.gz", seed=seed, events=3000) for seed in (1, 2))
        for account in diff(base, new, "--by=stack")["accounts"]:
            names = collections.Counter(row["site"] for row in account["rows"])
            self.assertGreater(max(names.values()), 1)
            self.assertEqual(len({(row["site"], row["hash"]) for row in account["rows"]}), len(account["rows"]))

    def test_rows_are_sorted_by_the_size_of_their_difference(self):
        base, new = (cli.make(f"sort{seed}.gmt.gz", seed=seed, events=3000) for seed in (1, 2))
        for sort, key in KEYS.items():
            for account in diff(base, new, f"--sort={sort}")["accounts"]:
                sizes = [abs(row[key]["difference"]) for row in account["rows"]]
                self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_each_row_names_its_change(self):
        base = story("base.gmt.gz", [("gone", 1, 10), ("less", 2, 10), ("more", 3, 10), ("same", 4, 10)])
        new = story("new.gmt.gz", [("added", 1, 5), ("less", 2, 3), ("more", 3, 10), ("more", 3, 1), ("same", 4, 10)])
        (account,) = diff(base, new)["accounts"]
        self.assertEqual(
            [(row["site"], row["change"], row["peak_bytes"]["difference"]) for row in account["rows"]],
            [
                ("train.py:gone", "gone", -10),
                ("train.py:less", "shrunk", -7),
                ("train.py:added", "new", 5),
                ("train.py:more", "grown", 1),
                ("train.py:same", "unchanged", 0),
            ],
        )
        self.assertEqual(account["changes"], {"new": 1, "gone": 1, "grown": 1, "shrunk": 1, "unchanged": 1})
        self.assertEqual(account["peak_bytes"], {"base": 40, "new": 29, "difference": -11})

    def test_a_line_that_moved_is_still_the_same_function(self):
        base, new = story("l1.gmt.gz", [("f", 10, 64)]), story("l2.gmt.gz", [("f", 17, 64)])
        self.assertFalse(diff(base, new)["differs"])
        self.assertFalse(diff(base, new, "--by=stack")["differs"])
        rows = diff(base, new, "--by=line")["accounts"][0]["rows"]
        self.assertEqual(
            {(row["site"], row["change"]) for row in rows}, {("train.py:10 in f", "gone"), ("train.py:17 in f", "new")}
        )

    def test_a_file_that_moved_to_another_folder_is_still_the_same(self):
        base = story("a.gmt.gz", [("make", 5, 4 * MIB), ("gone", 9, MIB)])
        new = story("b.gmt.gz", [("make", 7, 6 * MIB), ("added", 9, MIB)], file="/home/me/pkg/train.py")
        (account,) = diff(base, new)["accounts"]
        self.assertEqual(
            {
                (row["change"], row["site"], row.get("moved_from"), row["peak_bytes"]["difference"])
                for row in account["rows"]
            },
            {
                ("grown", "pkg/train.py:make", "train.py:make", 2 * MIB),
                ("gone", "train.py:gone", None, -MIB),
                ("new", "pkg/train.py:added", None, MIB),
            },
        )
        self.assertIn("pkg/train.py:make  (was train.py:make)", cli.run("diff", base, new).stdout)

    def test_a_file_that_moved_is_not_guessed_where_two_could_be_it(self):
        base = story("a.gmt.gz", [("make", 5, 4 * MIB)])
        new = story("b.gmt.gz", [("make@b/train.py", 7, MIB), ("make@c/train.py", 7, MIB)])
        rows = {row["site"]: row["change"] for row in diff(base, new)["accounts"][0]["rows"]}
        self.assertEqual(rows, {"train.py:make": "gone", "b/train.py:make": "new", "c/train.py:make": "new"})

    def test_ranks_are_compared_by_the_gpu_that_each_used(self):
        base = story("a.gmt.gz", [("make", 5, 4 * MIB)])
        new = story("b.gmt.gz", [("make", 5, 5 * MIB)], device=1)
        (account,) = diff(base, new)["accounts"]
        self.assertEqual((account["device"], account["new_device"], account["peak_bytes"]["difference"]), (0, 1, MIB))
        self.assertEqual([row["change"] for row in account["rows"]], ["grown"])
        text = cli.run("diff", base, new).stdout
        self.assertIn("cuda on GPU 0 (new: GPU 1)", text)

    def test_another_checkout_is_the_same_program(self):
        base = story("home.gmt.gz", [("f", 10, 64)])
        renamed = cli.place("moved.gmt.gz")
        rows = list(read_recording.read(base))
        files = [
            {**row, "file": row["file"].replace(b"/home/me", b"/builds/7/me")}
            for row in rows
            if row["record"] == "code"
        ]
        self.assertIn(b"/builds/7/me/train.py", {row["file"] for row in files})
        w.write(
            renamed,
            w.process(directory="/builds/7/me"),
            w.block("code", *files),
            *(w.block(kind, *[row for row in rows if row["record"] == kind]) for kind in ("frame", "frames", "event")),
            w.end(1),
        )
        result = diff(base, renamed)
        self.assertEqual((result["differs"], result["warnings"]), (False, []))


class Texts(unittest.TestCase):
    """The text and the exit code."""

    @classmethod
    def setUpClass(cls):
        cls.base = story("said1.gmt.gz", [("f", 1, 8 * MIB), ("g", 2, 1000), ("h", 3, 500), ("i", 4, 24)])
        cls.new = story(
            "said2.gmt.gz",
            [("f", 1, 9 * MIB + MIB // 2), ("g", 2, 900), ("h", 3, 500), ("i", 4, 24)],
            start_time_ns=10**18 + 1,
        )

    def text(self, *arguments, code=0):
        done = cli.run("diff", *arguments, self.base, self.new)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return done.stdout

    def test_sizes_have_signs_and_units(self):
        text = self.text()
        self.assertIn("Peak of cuda on GPU 0: 8.00 MiB -> 9.50 MiB, +1.50 MiB (+18.7 %)", text)
        self.assertRegex(text, r"(?m)^ +\+1.50 MiB +8.00 MiB +9.50 MiB +1 -> 1  grown   train.py:f$")
        self.assertRegex(text, r"(?m)^ +-100 B +1000 B +900 B +1 -> 1  shrunk  train.py:g$")
        self.assertIn("4 functions: 1 grown, 1 shrunk, 2 unchanged; 524 B unchanged", text)
        self.assertNotIn("\033", text)
        self.assertIn("\033[33m", self.text("--color=always"))

    def test_the_text_reports_the_rows_that_a_threshold_hides(self):
        self.assertRegex(self.text("--threshold=101"), r"-100 B  in 1 that differ by less than 101 B each")
        self.assertNotIn("less than", self.text("--threshold=100"))
        self.assertNotIn("train.py:g", self.text("--threshold=101"))

    def test_the_text_reports_the_rows_that_a_limit_cuts(self):
        self.assertRegex(self.text("--limit=1"), r"(?m)^ +-100 B  in 1 more \(--limit\)$")

    def test_stacks_can_be_shown(self):
        self.assertIn("train.py:99 in main", self.text("--by=stack"))
        self.assertNotIn("train.py:99 in main", self.text("--by=stack", "--frames=0"))
        self.assertIn("train.py:99 in main", self.text("--frames=2"))

    def test_the_exit_code_reports_a_difference_on_request(self):
        self.text("--exit-code", code=1)
        self.text("--exit-code", "--threshold=1M", code=1)
        self.text("--exit-code", "--threshold=1572864", code=1)
        self.text("--exit-code", "--threshold=2M")
        copy = cli.place("copy.gmt.gz")
        shutil.copy(self.base, copy)
        self.assertEqual(cli.run("diff", "--exit-code", self.base, copy).returncode, 0)

    def test_the_text_begins_with_reasons_to_doubt_the_comparison(self):
        other = cli.place("other.gmt.gz")
        option, device = {"key": "depth", "value": "9"}, {"ordinal": 0, "name": "B", "total_bytes": 2 << 30}
        event = {**w.EVENT, "stamp": 2000, "address": 4096, "size_bytes": 1}
        w.write(
            cli.place("one.gmt.gz"),
            w.process(),
            w.block("option", {**option, "value": "128"}),
            w.block("device", {**device, "name": "A"}),
            w.block("event", event),
            w.end(1),
        )
        w.write(
            other,
            w.process(command=b"prog\0--fast\0", rank=3, recorder_version="9", directory="/srv/you", start_time_ns=5),
            w.block("option", option),
            w.block("device", device),
            w.block("event", *({**event, "address": 4096 * i, "stamp": 2000 + i} for i in range(1, 9))),
        )
        result = diff(cli.place("one.gmt.gz"), other)
        for words in (
            "new recording is incomplete",
            "first difference is `arg` and `--fast`",
            "depth is `128` and `9`",
            "GPU 0 differs",
            "ranks differ: -1 and 3",
            "recorders differ",
            "check the order",
            "1 and 8 events",
        ):
            self.assertEqual(sum(words in doubt for doubt in result["warnings"]), 1, (words, result["warnings"]))
        text = cli.run("diff", cli.place("one.gmt.gz"), other).stdout
        self.assertEqual(text.count("\nwarning: "), len(result["warnings"]))
        self.assertEqual(diff(self.base, self.new)["warnings"], [])

    def test_other_directories_are_reported_if_they_can_matter(self):
        left = story("here.gmt.gz", [("f", 1, 64)], directory="/home/me")
        right = story("there.gmt.gz", [("f", 1, 64)], directory="/home")
        result = diff(left, right)
        self.assertEqual(
            [(row["site"], row["moved_from"]) for row in result["accounts"][0]["rows"]],
            [("me/train.py:f", "train.py:f")],
        )
        self.assertEqual(result["warnings"], [])
        result = diff(left, right, "--by", "stack")
        self.assertEqual({row["site"] for row in result["accounts"][0]["rows"]}, {"train.py:f", "me/train.py:f"})
        self.assertEqual(len(result["warnings"]), 1)
        self.assertIn("/home/me and /home: one source file", result["warnings"][0])
        same = story("elsewhere.gmt.gz", [("f", 1, 64)], directory="/else/where")
        self.assertEqual(diff(same, story("elsewhere2.gmt.gz", [("f", 1, 64)], directory="/else"))["warnings"], [])

    def test_accounts_of_only_one_side_are_compared_with_zero(self):
        empty = cli.place("empty-run.gmt.gz")
        w.write(empty, w.process(), w.end(0))
        (account,) = diff(empty, self.base)["accounts"]
        self.assertEqual(account["peak_bytes"]["base"], 0)
        self.assertEqual({row["change"] for row in account["rows"]}, {"new"})
        self.assertEqual(diff(empty, cli.make("nothing.gmt.gz", events=0))["accounts"], [])


class WrongArguments(unittest.TestCase):
    def setUp(self):
        self.good = story("good.gmt.gz", [("f", 1, 64)])
        self.other = story("good2.gmt.gz", [("f", 1, 64)])

    def check(self, code, words, *arguments):
        done = cli.run("diff", *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), arguments)
        self.assertIn(words, done.stderr)
        self.assertEqual(len([line for line in done.stderr.splitlines() if "error:" in line]), 1)

    def test_wrong_operands_are_reported(self):
        self.check(2, "needs two recordings", self.good)
        self.check(2, "but got 3", self.good, self.other, self.good)
        self.check(2, "are the same file", self.good, self.good)
        os.symlink(self.good, cli.place("link"))
        self.check(2, "are the same file", self.good, cli.place("link"))

    def test_a_threshold_that_is_no_size_is_reported(self):
        for value in "1.5M", "ten", "5X", "-1", "":
            self.check(2, "--threshold: ", self.good, self.other, f"--threshold={value}")

    def test_a_file_that_cannot_be_read_is_named(self):
        with open(cli.place("junk"), "wb") as file:
            file.write(b"no recording")
        for bad in cli.place("nowhere"), cli.place("junk"), cli.FOLDER:
            self.check(3, f"{bad}: ", self.good, bad)
            self.check(3, f"{bad}: ", bad, self.good)

    def test_an_incomplete_recording_is_reported_and_an_error_with_strict(self):
        cut = cli.place("cut.gmt.gz")
        with open(cli.make("whole.gmt.gz", events=2000), "rb") as file:
            data = file.read()
        with open(cut, "wb") as file:
            file.write(data[: len(data) // 2])
        for arguments, code in ([], 0), (["--exit-code"], 1), (["--strict"], 4), (["--strict", "--exit-code"], 4):
            for pair in (cut, self.good), (self.good, cut):
                done = cli.run("diff", *arguments, *pair)
                self.assertEqual(done.returncode, code, arguments)
                self.assertIn("incomplete: its missing memory", done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    cli.main()
