# SPDX-License-Identifier: MIT
"""Reports that Nsight Systems exported to SQLite: their memory, stacks and phases, and files that are not such reports."""

import os
import random
import sqlite3
import unittest

import cli
import exports
import hostile_texts
import snapshots
from snapshots import MiB

PROCESS = (1 << 56) + (4242 << 24)
MEMORY = """CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER,
    memoryOperationType INTEGER, name TEXT, correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER)"""
OTHERS = """
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
        globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
    CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, kernelMode INTEGER, thumbCode INTEGER,
        unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unresolvedIP INTEGER, stackDepth INTEGER NOT NULL);
    CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
        category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
"""


class Report:
    """An export of Nsight Systems, as its schema describes it."""

    def __init__(self, name, others=True):
        self.path = cli.place(name)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.database = sqlite3.connect(self.path)
        self.execute(MEMORY)
        if others:
            self.database.executescript(OTHERS)

    def execute(self, statement, *values):
        self.database.execute(statement, values)

    def event(
        self, start, address, size, free=False, kind=2, device=0, correlation=None, process=PROCESS, stream=0, pool=None
    ):
        self.execute(
            "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(?,?,?,1,?,0,?,?,?,NULL,?,?,?)",
            *(start, process, device, address, size, kind, int(free), correlation, stream, pool),
        )

    def write(self):
        self.database.commit()
        self.database.close()
        return self.path


def names(ranges):
    return [(phase["name"], phase["begin_ns"], phase["end_ns"]) for phase in ranges]


class RoundTrip(unittest.TestCase):
    def check(self, path):
        database = cli.place("exported.sqlite")
        done = cli.run("export", "--format=sqlite", "--force", "-o", database, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        back = snapshots.imported(database)
        wanted = snapshots.numbers(path, "cuda")
        self.assertTrue(wanted)
        self.assertEqual(snapshots.numbers(back, "cuda"), wanted)
        self.assertEqual(cli.report(back)["anomalies"]["unknown_frees"], 0)
        return back

    def test_the_numbers_of_layer_cuda_come_back(self):
        for settings in {"events": 3000, "steps": 10}, {"events": 30000}:
            path = cli.make("there.gmt.gz", **settings)
            back = cli.report(self.check(path))
            self.assertEqual(
                [name for name, *_ in names(back["phases"])], [name for name, *_ in names(cli.report(path)["phases"])]
            )
            self.assertEqual(back["process"]["pid"], 4242)

    def test_a_training_comes_back(self):
        self.check(exports.training("training.gmt.gz"))


class Rows(unittest.TestCase):
    def test_kinds_of_memory(self):
        report = Report("kinds.sqlite")
        for kind in range(8):
            report.event(kind, 100 + kind, 10 + kind, kind=kind, stream=3)
        report.event(9, 200, 7, pool=0x55)
        report.event(10, 200, 7, free=True, pool=0x55)
        report.event(11, 107, 0, free=True, kind=7)
        rows = snapshots.dump(snapshots.imported(report.write()), "event")
        self.assertEqual(
            [(row["space"], row["layer"], row["device"]) for row in rows[:9]],
            [(5, 1, -1), (4, 1, -1), (1, 1, 0), (6, 1, 0), (2, 1, 0), (18, 3, 0), (2, 1, 0), (1, 1, 0), (3, 1, 0)],
        )
        self.assertEqual({row["stream"] for row in rows[:8]}, {3})
        self.assertEqual([row["object"] for row in rows[8:10]], [0x55, 0x55])
        self.assertEqual([row["kind"] for row in rows[8:]], [1, 2, 2])

    def test_stacks_and_threads_come_from_the_calls(self):
        report = Report("stacks.sqlite")
        for number, text in enumerate(("cudaMalloc_v3020", "at::empty", "/lib/libtorch.so", "main", "/bin/train; x")):
            report.execute("INSERT INTO StringIds VALUES(?,?)", number, text)
        for depth, symbol, module in (1, 3, 4), (0, 1, 2):
            report.execute(
                "INSERT INTO CUDA_CALLCHAINS(id, symbol, module, stackDepth) VALUES(5,?,?,?)", symbol, module, depth
            )
        report.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0,1,1,?,77,0,0,5)", PROCESS + 99)
        # Another process has the same number of a call.
        report.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0,1,1,?,77,3,0,NULL)", PROCESS + (1 << 24) + 98)
        report.event(10, 1, MiB, correlation=77)
        report.event(20, 2, MiB, correlation=78)
        path = snapshots.imported(report.write())
        (site,) = [site for site in cli.report(path)["sites"] if site["stack"]]
        self.assertEqual(
            [(frame["function"], frame["kind"], frame["module"]) for frame in site["stack"]],
            [("at::empty", "native", "/lib/libtorch.so"), ("main", "native", "/bin/train; x")],
        )
        self.assertEqual([row["name"] for row in snapshots.dump(path, "api")], ["cudaMalloc", "alloc"])
        self.assertEqual([row["tid"] for row in snapshots.dump(path, "thread")], [99, 0])
        self.assertTrue(any("1 allocations have no stack" in note for note in snapshots.notes(path)))

    def test_ranges_of_nvtx_are_phases(self):
        report = Report("ranges.sqlite")
        report.execute("INSERT INTO StringIds VALUES(8,'by id')")
        rows = (
            (100, 900, 59, "outer", 1, None),
            (100, 300, 59, "inner", 1, None),
            (300, 300, 59, "empty", 1, None),
            (300, 900, 59, None, 1, 8),
            (50, 200, 60, "over threads", 2, None),
            (60, None, 34, "mark", 2, None),
            (910, None, 59, "open", 1, None),
            (120, 180, 75, "a domain's name", 1, None),
        )
        for start, end, kind, text, thread, text_id in rows:
            report.execute(
                "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, textId, domainId) VALUES(?,?,?,?,?,?,0)",
                *(start, end, kind, text, PROCESS + thread, text_id),
            )
        report.execute(
            "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES(1,2,59,'other',?,0)",
            7 << 24,
        )
        report.event(150, 1, MiB)
        report.event(1000, 1, 0, free=True)
        path = snapshots.imported(report.write())
        self.assertEqual(
            sorted(names(cli.report(path)["phases"])),
            [
                ("by id", 300, 900),
                ("empty", 300, 300),
                ("inner", 100, 300),
                ("open", 910, 1000),
                ("outer", 100, 900),
                ("over threads", 50, 200),
            ],
        )
        self.assertTrue(any(row["kind"] == 6 for row in snapshots.dump(path, "mark")))

    def test_the_session_has_the_date(self):
        report = Report("date.sqlite")
        report.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000, '', '')")
        report.event(1_000_000_000, 1, 1)
        process = cli.report(snapshots.imported(report.write()))["process"]
        self.assertEqual((process["start_time_ns"], process["duration_ns"]), (1_700_000_000_000_000_000, 1_000_000_000))

    def test_rows_in_any_order_and_an_address_that_is_used_again_at_once(self):
        report = Report("order.sqlite")
        report.event(20, 5, 0, free=True)
        report.event(20, 6, 3)
        report.event(20, 6, 0, free=True)
        report.event(20, 5, 2 * MiB)
        report.event(10, 5, MiB)
        path = snapshots.imported(report.write())
        numbers = snapshots.numbers(path, "cuda")[0]
        self.assertEqual((numbers["live_bytes"], numbers["peak_bytes"]), (2 * MiB, 2 * MiB + 3))
        anomalies = cli.report(path)["anomalies"]
        self.assertEqual((anomalies["unknown_frees"], anomalies["missed_frees"]), (0, 0))

    def test_only_the_first_table_is_needed(self):
        report = Report("alone.sqlite", others=False)
        report.event(5, 1, MiB)
        self.assertEqual(snapshots.numbers(snapshots.imported(report.write()), "cuda")[0]["live_bytes"], MiB)
        path = snapshots.imported(Report("nothing.sqlite").write())
        self.assertTrue(any("no events of memory" in note for note in snapshots.notes(path)))

    def test_several_processes_need_a_choice(self):
        report = Report("several.sqlite")
        report.event(5, 1, MiB, process=7 << 24)
        report.event(5, 1, 2 * MiB, process=9 << 24)
        path = report.write()
        self.assertEqual(snapshots.refusal(path), "has memory of 2 processes: choose one with --pid (7, 9)")
        for pid, size in (7, MiB), (9, 2 * MiB):
            chosen = snapshots.imported(path, f"--pid={pid}")
            self.assertEqual(snapshots.numbers(chosen, "cuda")[0]["live_bytes"], size)
            self.assertEqual(cli.report(chosen)["process"]["pid"], pid)
        done = cli.run("import", "--force", "--pid=8", "-o", cli.place("no.gmt.gz"), path)
        self.assertIn("has no memory of process 8, only of 7, 9", done.stderr)


class OtherFiles(unittest.TestCase):
    def test_other_schemas_are_refused_by_the_missing_table(self):
        path = cli.place("other.sqlite")
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE users(name)")
        self.assertEqual(
            snapshots.refusal(path),
            "is an SQLite file without the table CUDA_GPU_MEMORY_USAGE_EVENTS, which Nsight Systems writes with "
            "`nsys profile --cuda-memory-usage=true`",
        )
        path = cli.place("columns.sqlite")
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, address, bytes)")
        self.assertEqual(snapshots.refusal(path), "the table CUDA_GPU_MEMORY_USAGE_EVENTS has no column memKind")

    def test_views_cannot_do_more_than_read(self):
        columns = "start, globalPid, deviceId, address, bytes, memKind, memoryOperationType"
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) "
        many = (
            " AS SELECT a.x start, 0 globalPid, 0 deviceId, 1 address, 1 bytes, 2 memKind, 0 memoryOperationType FROM "
        )
        for number, view in enumerate(
            (
                f"({columns}) AS {endless} SELECT x, 0, 0, 1, 1, 2, 0 FROM n",
                many + "t a, t b, t c, t d, t e WHERE a.x+b.x+c.x+d.x+e.x < 0",
                f"({columns}) AS SELECT load_extension('x'), 0, 0, 1, 1, 2, 0",
                f"({columns}) AS SELECT readfile('/etc/passwd'), 0, 0, 1, 1, 2, 0",
                f"({columns}) AS SELECT * FROM missing",
            )
        ):
            with self.subTest(view=view):
                path = cli.place(f"view{number}.sqlite")
                database = sqlite3.connect(path)
                database.execute("CREATE TABLE t(x)")
                database.executemany("INSERT INTO t VALUES(?)", [(n,) for n in range(1000)])
                database.execute(f"CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS{view}")
                database.commit()
                database.close()
                refusal = snapshots.refusal(path)
                self.assertRegex(refusal, "more work than|without the table|has no column|cannot be read")

    def test_values_of_other_types(self):
        report = Report("types.sqlite")
        for value in "text", b"\xff", None, 1.5, -(1 << 63), (1 << 63) - 1:
            report.execute(
                "INSERT OR IGNORE INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(?,?,?,1,?,0,?,?,?,?,?,?,?)", *[value] * 11
            )
            report.event(5, 1, 1)
            report.execute(
                "INSERT OR IGNORE INTO NVTX_EVENTS(start, end, eventType, text, globalTid, textId, domainId) "
                "VALUES(?,?,59,?,?,?,?)",
                *(value, value, value, PROCESS, value, value),
            )
        path = snapshots.imported(report.write(), "--pid=4242")
        self.assertEqual(cli.run("report", "--full", path).returncode, 0)

    def test_damaged_files(self):
        report = Report("whole.sqlite")
        for number in range(200):
            report.event(number, number, MiB, correlation=number)
            report.execute("INSERT INTO StringIds VALUES(?,?)", number, "x" * 50)
        with open(report.write(), "rb") as file:
            data = file.read()
        chance = random.Random(1)
        for number in range(150):
            damaged = bytearray(data[: chance.randrange(16, len(data))] if number % 3 == 0 else data)
            for _ in range(number % 7):
                damaged[chance.randrange(16, len(damaged))] = chance.randrange(256)
            path = snapshots.write("damaged.sqlite", bytes(damaged))
            done = cli.run("import", "--force", "-o", cli.place("damaged.gmt.gz"), path)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertEqual(len((done.stdout + done.stderr).splitlines()), 1)

    def test_names_with_special_characters(self):
        report = Report("plain.sqlite")
        report.event(1, 1, MiB)
        with open(report.write(), "rb") as file:
            data = file.read()
        for name in "a b.sqlite", "a?mode=rwc#x%41.sqlite", "ä;'\".sqlite", "../odd.sqlite":
            folder = cli.place("deep")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
            for path in name, os.path.join(folder, name), "/" + os.path.join(folder, name):
                done = cli.run("import", "--force", "-o", "x.gmt.gz", path, cwd=folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    def test_the_file_is_only_read(self):
        report = Report("wal.sqlite")
        report.execute("PRAGMA journal_mode=WAL")
        report.event(1, 1, MiB)
        path = report.write()
        before, listed = os.stat(path), set(os.listdir(cli.FOLDER))
        snapshots.imported(path)
        after = os.stat(path)
        self.assertEqual((before.st_mtime_ns, before.st_size), (after.st_mtime_ns, after.st_size))
        self.assertEqual(set(os.listdir(cli.FOLDER)) - listed - {"wal.sqlite.gmt.gz", "cache"}, set())

    def test_standard_input_is_refused(self):
        with open(Report("piped.sqlite").write(), "rb") as file:
            done = cli.run("import", "-o", cli.place("piped.gmt.gz"), "-", stdin=file)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard input: is a file of SQLite, which must be imported by its name", done.stderr)


class Texts(hostile_texts.SafeOutput):
    def test_texts_of_the_file_cannot_command_a_terminal(self):
        report = Report("hostile.sqlite")
        report.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0,1,1,?,1,0,0,1)", PROCESS + 9)
        for number, raw in enumerate(hostile_texts.HOSTILE):
            report.execute("INSERT INTO StringIds VALUES(?,CAST(? AS TEXT))", number, raw)
            report.execute(
                "INSERT INTO CUDA_CALLCHAINS(id, symbol, module, stackDepth) VALUES(1,?,?,?)", number, number, number
            )
            report.execute(
                "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES(1,9,59,CAST(? AS TEXT),?,0)",
                *(raw, PROCESS + 9),
            )
        report.event(5, 1, MiB, correlation=1)
        path = snapshots.imported(report.write())
        for verb in ["report"], ["report", "--full"], ["leaks"], ["info"], ["tree"], ["dump"], ["check"]:
            self.check(cli.run(*verb, path, text=False).stdout, True)


if __name__ == "__main__":
    cli.main()
