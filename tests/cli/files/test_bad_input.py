# SPDX-License-Identifier: MIT
"""Damaged and foreign files: one clear line and the documented exit code, never a crash, never wrong numbers."""

import concurrent.futures
import gzip
import json
import os
import subprocess
import unittest

import cli
import write_recording as w

# diff reads two recordings, ranks says one line more about the job, recover completes recordings that are cut.
OTHER_VERBS = {"diff", "ranks", "recover"}
# The options with which a verb writes a file. These verbs print nothing about the recording.
WRITE = {
    "export": ["--format=folded", "--force", "-o", cli.place("bad-input.folded")],
    "fold": ["--force", "-o", cli.place("bad-input.gmt.gz")],
    "summarize": ["--force"],
}
VERBS = sorted(set(cli.verbs_that_read()) - OTHER_VERBS)
PRINTING_VERBS = [verb for verb in VERBS if verb not in WRITE]


def commands(path, *options, verbs=VERBS):
    """Returns the command lines by which verbs read the recording `path`."""
    lines = [[verb, *options, *WRITE.get(verb, ()), path] for verb in verbs if verb != "sql"]
    if "sql" in verbs:
        lines.append(["sql", *options, path, "select count(*) from sites"])
    return [*lines, ["report", "--json", *options, path]]


def write_bytes(name, data):
    with open(cli.place(name), "wb") as file:
        file.write(data)
    return cli.place(name)


def small_recording():
    """Returns a recording of some hundred bytes that has all kinds of records and several blocks of events."""
    with open(cli.make("small.gmt.gz", events=24, threads=2, sites=2, devices=1, depth=2, live=6), "rb") as file:
        return file.read()


def numbers(text):
    """Returns a report's numbers without the keys about its completeness."""
    report = json.loads(text)
    kept = {key: report[key] for key in ("devices", "host", "sites", "refused")}
    for site in kept["sites"]:
        # A frame or module may be defined behind the cut. The report then calls the stack unknown.
        del site["stack"], site["own_frame"]
    return kept


class BadInput(unittest.TestCase):
    def check_refused(self, path, *said, verbs=VERBS):
        for command in commands(path, verbs=verbs):
            done = cli.run(*command)
            self.assertEqual((done.returncode, done.stdout), (3, ""), command)
            self.assertEqual(len(done.stderr.splitlines()), 1, command)
            self.assertTrue(done.stderr.startswith(f"gpumemtrace: error: {path}: "), done.stderr)
            for words in said:
                self.assertIn(words, done.stderr)

    def test_a_missing_file_is_named(self):
        self.check_refused(cli.place("nowhere.gmt.gz"), "No such file")

    def test_an_empty_file_is_reported_as_empty(self):
        self.check_refused(write_bytes("empty", b""), "is empty")

    def test_a_directory_is_reported_as_one(self):
        os.makedirs(cli.place("folder"), exist_ok=True)
        operands = cli.operands_of_verbs()
        self.check_refused(
            cli.place("folder"), "is a directory", verbs=[verb for verb in VERBS if "folder" not in operands[verb]]
        )

    def test_a_file_without_permission_is_refused_with_the_reason(self):
        path = write_bytes("secret", b"x")
        os.chmod(path, 0)
        if os.access(path, os.R_OK):
            self.skipTest("this user may read everything")
        self.check_refused(path, "Permission denied")

    def test_a_file_that_is_not_gzip_is_no_recording(self):
        self.check_refused(write_bytes("text", b"hello"), "is not a gzip file")
        self.check_refused(write_bytes("byte", b"\x1f"), "is not a gzip file")

    def test_gzip_of_something_else_is_no_recording(self):
        self.check_refused(write_bytes("other.gz", gzip.compress(b"x" * 1000)), "not a gpumemtrace recording")

    def test_a_future_version_asks_for_a_newer_program(self):
        for name, head in ("major", w.header(major=2)), ("feature", w.header(features=4)):
            path = cli.place(name)
            w.write(path, w.process(), w.end(0), head=head)
            self.check_refused(path, "use a newer gpumemtrace")

    def test_a_header_that_is_damaged_or_cut_is_nothing_to_read(self):
        head = bytearray(w.header())
        head[12] ^= 1
        self.check_refused(write_bytes("head", gzip.compress(bytes(head))), "header is damaged")
        self.check_refused(write_bytes("short", gzip.compress(w.header()[:10])), "cannot be read")

    def test_a_file_without_readable_content_is_reported(self):
        self.check_refused(write_bytes("bare", gzip.compress(w.header())), "cannot be read")
        self.check_refused(write_bytes("cut", gzip.compress(w.header() + w.process()[:30])), "cannot be read")

    def test_the_readable_ones_of_several_files_are_reported(self):
        good = cli.make("good.gmt.gz")
        done = cli.run("report", "--json", cli.place("nowhere.gmt.gz"), good)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout, cli.run("report", "--json", good).stdout)

    def check_damaged(self, done, words, code=0):
        self.assertEqual(done.returncode, code, done.args)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("gpumemtrace: warning: "), done.stderr)
        self.assertIn(words, done.stderr)

    def test_a_cut_file_is_reported_up_to_the_cut_with_one_warning(self):
        path = write_bytes("half", small_recording()[:-12])
        for command in commands(path, verbs=PRINTING_VERBS):
            # The events before the cut leak, so `check` fails, also with --strict.
            self.check_damaged(cli.run(*command), path, 1 if command[0] == "check" else 0)
        # A recording that `top` shows may be incomplete at any time, so it has no --strict.
        for command in commands(path, "--strict", verbs=set(PRINTING_VERBS) - {"top"}):
            self.check_damaged(cli.run(*command), path, 1 if command[0] == "check" else 4)
        report = json.loads(cli.run("report", "--json", path).stdout)
        self.assertFalse(report["complete"])
        self.assertGreater(report["events"]["recorded"], 0)
        self.assertIn("ends in the middle", report["remarks"][0])

    def test_bytes_after_the_end_are_damage(self):
        data = small_recording()
        for tail in b"x", b"\0" * 512, data[:100]:
            self.check_damaged(cli.run("report", "--json", write_bytes("tail", data + tail)), "events before that")

    def flood(self):
        """Writes a file of 4 MB whose 280 million valid rows of events are 4.3 GB, and more as a recording in memory."""
        path, rows, number = cli.place("flood.gmt.gz"), 1 << 16, w.NUMBERS["event"]
        # Each row is a new block of the driver.
        cells = {"kind": b"\1", "layer": b"\1", "space": b"\1", "address": b"\2", "size_bytes": b"\1"}
        block = w.raw_block(
            number,
            rows,
            b"".join(
                w.varint(rows) + cells.get(field, b"\0") * rows for field, _encoding, _bits in w.RECORDS[number][1]
            ),
        )
        member = gzip.compress(block * 64, mtime=0)
        with open(path, "wb") as file:
            file.write(gzip.compress(w.header() + w.process(), mtime=0))
            file.write(member * (4_300_000_000 // (len(block) * 64) + 1))
        self.assertLess(os.path.getsize(path), 6 << 20)
        return path

    def test_a_small_file_of_rows_without_end_does_not_take_the_machines_memory(self):
        path = self.flood()
        for verb in ["report"], ["info"], ["leaks"], ["check"], ["diff", cli.make("before.gmt.gz")]:
            process = subprocess.Popen(
                [cli.CLI, "--max-memory=64MiB", *verb, path],
                env=cli.PLAIN,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            with process:
                out, said = process.stdout.read(), process.stderr.read()
                _pid, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual((process.returncode, out), (3, ""), verb)
            self.assertEqual(
                said,
                f"gpumemtrace: error: {path}: out of memory: this needs more than 64.0 MiB; "
                "`gpumemtrace --max-memory=SIZE VERB ...` allows more (the default is half of the memory that this process may use)\n",
            )
            self.assertLess(used.ru_maxrss, 128 << 10, "KiB")

    def test_there_is_a_default_limit_that_can_be_changed(self):
        path = cli.make("allowed.gmt.gz")
        for given in [], ["--max-memory=none"], ["--max-memory=1GiB"]:
            self.assertEqual(cli.run(*given, "report", path).returncode, 0, given)
        for given in "--max-memory=", "--max-memory=0", "--max-memory=much":
            done = cli.run(given, "report", path)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), given)

    def prefixes(self):
        """Returns the numbers of the reports on the first blocks of the small recording, for every count of blocks."""
        content = gzip.decompress(small_recording())
        at, known, complete = 20, [], None
        while at < len(content):
            at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
            done = cli.run("report", "--json", write_bytes("prefix", gzip.compress(content[:at])))
            if done.returncode == 0:
                known.append(numbers(done.stdout))
        complete = cli.run("report", "--json", cli.place("small.gmt.gz")).stdout
        self.assertEqual(numbers(complete), known[-1])
        return known, complete

    def check_variants(self, variants):
        """Checks that each variant is refused, or reported as a prefix with a warning, or reported without a change."""
        known, complete = self.prefixes()

        def judge(item):
            name, data = item
            path = write_bytes(name, data)
            done = cli.run("report", "--json", path)
            os.unlink(path)
            return name, done

        counts = {"refused": 0, "prefix": 0, "same": 0}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, done in pool.map(judge, variants):
                lines = done.stderr.splitlines()
                if done.returncode == 3:
                    self.assertEqual((done.stdout, len(lines)), ("", 1), name)
                    counts["refused"] += 1
                    continue
                self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
                report = json.loads(done.stdout)
                if report["complete"]:
                    self.assertEqual(lines, [])
                    report["file"] = json.loads(complete)["file"]
                    self.assertEqual(report, json.loads(complete), name)
                    counts["same"] += 1
                else:
                    self.assertEqual(len(lines), 1, name)
                    self.assertIn(numbers(done.stdout), known, name)
                    counts["prefix"] += 1
        print(f"# {counts}")
        return counts

    def test_cut_at_every_byte_it_is_refused_or_reported_up_to_there(self):
        data = small_recording()
        counts = self.check_variants((f"cut{at}", data[:at]) for at in range(len(data)))
        self.assertEqual(counts["same"], 0)
        self.assertGreater(counts["prefix"], 50)

    def test_with_any_byte_changed_it_is_refused_a_prefix_or_the_same(self):
        data = small_recording()
        counts = self.check_variants(
            (f"byte{at}-{change}", data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
            for at in range(len(data))
            for change in (0x01, 0x80, 0xFF)
        )
        self.assertGreater(counts["prefix"], 50)
        # gzip's own header has bytes without a meaning: the time stamp and the operating system.
        self.assertGreater(counts["same"], 10)

    def test_with_any_byte_of_the_content_changed_checksums_find_it(self):
        content = gzip.decompress(small_recording())
        counts = self.check_variants(
            (f"content{at}", gzip.compress(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :], 1))
            for at in range(0, len(content), 2)
        )
        self.assertEqual(counts["same"], 0)


def event(**changes):
    return {**w.EVENT, "stamp": 2000, "address": 4096, "size_bytes": 10, **changes}


class Hostile(unittest.TestCase):
    """Valid checksums, senseless content."""

    def report(self, *blocks):
        path = cli.place("hostile.gmt.gz")
        w.write(path, *blocks)
        for command in *commands(path), ["report", "--native=all", path]:
            self.assertIn(cli.run(*command).returncode, (0, 1) if command[0] == "check" else (0,), command)
        return cli.report(path)

    def test_ids_that_nothing_defines_are_shown_as_unknown(self):
        report = self.report(
            w.process(),
            w.block("event", event(thread=99, api=65535, stack=4294967295, frames=7)),
            w.block("frames", {"id": 8, "items": [2**64 - 1, 5]}),
            w.block("stack", {"id": 8, "generation": 9, "items": [0, 2**64 - 1]}),
            w.block("event", event(stack=8, frames=8, address=8192)),
            w.end(2),
        )
        self.assertEqual(report["anomalies"]["missing_definitions"], 4)
        self.assertEqual(sum(site["live_bytes"] for site in report["sites"]), 20)

    def test_extreme_numbers_do_no_harm(self):
        huge = 2**64 - 1
        report = self.report(
            w.process(pid=2**32 - 1, rank=-(2**31), start_time_ns=huge, start_stamp=huge),
            w.block(
                "clock",
                {"stamp": 0, "monotonic_ns": huge, "realtime_ns": 0},
                {"stamp": huge, "monotonic_ns": huge, "realtime_ns": huge},
            ),
            w.block("device", {"ordinal": 2**32 - 1, "total_bytes": huge}, {"ordinal": 32767, "total_bytes": huge}),
            w.block(
                "event",
                event(device=32767, size_bytes=huge, stamp=huge),
                event(device=-32768),
                event(device=-2, address=huge),
                event(space=255, device=5, address=77),
            ),
            w.block("drop", {"thread": 5, "count": huge}, {"thread": 6, "count": huge}),
            w.end(4, huge),
        )
        self.assertIsNone(report["process"]["rank"])
        self.assertEqual(report["anomalies"]["impossible_sizes"], 1)
        self.assertEqual([device["device"] for device in report["devices"]], [-32768, -2, 5, 32767])
        self.assertFalse(report["complete"])

    def test_an_address_that_is_taken_twice_closes_the_first_block(self):
        report = self.report(w.process(), w.block("event", event(), event(stamp=2001, size_bytes=3)), w.end(2))
        self.assertEqual(report["devices"][0]["layers"][0]["live_bytes"], 3)
        self.assertEqual(report["anomalies"]["missed_frees"], 1)

    def test_definitions_that_come_twice_or_after_use_count_once(self):
        report = self.report(
            w.process(),
            w.process(host="second"),
            w.block("event", event(frames=1)),
            w.block("frames", {"id": 1, "items": [3]}, {"id": 1, "items": [5]}),
            w.block("code", {"id": 1, "function": "f"}),
            w.block("frame", {"id": 1, "code": 1, "line": 4}),
            w.end(1),
        )
        self.assertEqual(report["process"]["host"], "here")
        self.assertEqual([frame["function"] for frame in report["sites"][0]["stack"]], ["f"])
        self.assertIn("2 records have the id of an earlier record and were ignored", report["remarks"])

    def test_overlapping_and_reversed_modules_are_searched_safely(self):
        modules = [
            {"id": i + 1, "start": i * 10 % 97, "end": (i * 31) % 211, "bias": 2**64 - i, "path": f"/{i}"}
            for i in range(500)
        ]
        self.report(
            w.process(),
            w.block("module", *modules),
            w.block("stack", {"id": 1, "items": list(range(250))}),
            w.block("event", event(stack=1)),
            w.end(1),
        )

    def test_paths_of_modules_that_are_no_files_are_not_waited_for(self):
        os.mkfifo(cli.place("fifo"))
        names = [cli.place("fifo"), "/dev/zero", "/", "", "relative", "/proc/self/mem", "x" * 5000, "/dev/tty"]
        modules = [
            {"id": i + 1, "start": i * 100, "end": i * 100 + 100, "path": name, "build_id": "../../etc"}
            for i, name in enumerate(names)
        ]
        self.report(
            w.process(),
            w.block("module", *modules),
            w.block("stack", {"id": 1, "items": [i * 100 + 50 for i in range(len(names))]}),
            w.block("event", event(stack=1)),
            w.end(1),
        )

    def test_a_block_with_more_rows_than_it_can_hold_is_rejected(self):
        path = cli.place("rows.gmt.gz")
        w.write(path, w.process(), *[w.raw_block(11, 1 << 20, b"\x01\x00")] * 100)
        done = cli.run("report", path)
        self.assertEqual(done.returncode, 0)
        self.assertIn("impossible size", done.stderr)

    def test_thousands_of_devices_threads_and_drops_take_little_time(self):
        events = [event(device=i % 32768, stamp=2000 + i, address=4096 * (i + 1)) for i in range(65000)]
        drops = [{"thread": i, "reason": "lost", "count": 1} for i in range(3000)]
        path = cli.place("wide.gmt.gz")
        w.write(path, w.process(), w.block("event", *events), w.block("drop", *drops), w.end(len(events)))
        for command in commands(path, verbs=PRINTING_VERBS):
            with self.subTest(command=command):
                # The limit of cli.run is two minutes. A verb takes some seconds. `check` finds leaks.
                # A row of JSON for each of 32,768 devices is more than such a small file may ask for.
                code = 4 if "--json" in command else 1 if command[0] == "check" else 0
                self.assertEqual(cli.run(*command).returncode, code)
        done = cli.run("report", "--full", path)
        self.assertIn("and 32704 more GPUs (see --json)", done.stdout)
        self.assertIn("more events were lost for 2,980 other reasons; 3,000 in total", done.stdout)

    def test_text_of_a_file_cannot_command_the_terminal(self):
        path = cli.place("escape.gmt.gz")
        evil = b"\x1b]0;owned\x07\x1b[2J"
        w.write(
            path,
            w.process(command=evil + b"\0", host=evil),
            w.block("note", {"text": evil}),
            w.block("device", {"ordinal": 0, "name": evil, "uuid": evil}),
            w.block("thread", {"id": 1, "name": evil}),
            w.block("api", {"id": 1, "name": evil}),
            w.block("option", {"key": evil, "value": evil}),
            w.block("drop", {"thread": 1, "reason": evil, "count": 1}),
            w.block("code", {"id": 1, "function": evil, "file": evil}),
            w.block("frame", {"id": 1, "code": 1}),
            w.block("frames", {"id": 1, "items": [3]}),
            w.block("event", event(frames=1, api=1)),
            w.end(1),
        )
        for command in commands(path):
            done = cli.run(*command)
            self.assertEqual(done.returncode, 1 if command[0] == "check" else 0, command)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            self.assertNotIn("\x07", done.stdout + done.stderr)


if __name__ == "__main__":
    cli.main()
