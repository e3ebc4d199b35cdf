# SPDX-License-Identifier: MIT
"""Tables of many recordings: their columns, their rows compared with those of each recording, what lies there else."""

import os
import shutil
import subprocess
import sys
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import duckdb  # noqa: E402
import engine_job  # noqa: E402
import job_story  # noqa: E402
import pyarrow  # noqa: E402
import tap  # noqa: E402
import write_recording as w  # noqa: E402

import gpumemtrace  # noqa: E402
from gpumemtrace._jobs import files, rows  # noqa: E402

# What engines may rely on: a change of these needs a new GMT_READ_TABLES_VERSION.
PLACE = "job string, host string, rank int32, attempt int64"


def fresh(name):
    shutil.rmtree(cli.place(name), ignore_errors=True)
    os.makedirs(cli.place(name))
    return cli.place(name)


def run(code, *arguments):
    """Runs Python code with the package, and returns its exit code, output and messages."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": stories.PACKAGE},
        capture_output=True,
        text=True,
    )


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("rows")
        cls.job = gpumemtrace.open_job(cls.folder)

    def test_a_table_has_the_rows_of_each_recording_with_its_place(self):
        self.assertEqual(len(self.job.paths), 8)
        of_rank = {rank["rank"]: rank for rank in engine_job.ranks(self.folder)["ranks"]}
        for name in self.job.tables:
            if name == rows.FILES:
                continue
            found, expected = self.job.table(name).to_pyarrow().to_pylist(), []
            for path in self.job.paths:
                with gpumemtrace.open(path) as recording:
                    number = recording.table("process").to_pyarrow().to_pylist()[0]["rank"]
                    rank = of_rank[number]
                    place = {
                        "job": "slurm job 4711.0",
                        "host": rank["host"],
                        "rank": number,
                        "attempt": rank["attempt"],
                    }
                    expected += [{**place, **row} for row in recording.table(name).to_pyarrow().to_pylist()]
            self.assertEqual(found, expected, name)

    def test_all_columns_have_types_that_each_engine_knows(self):
        allowed = {"string", "int32", "int64", "double", "bool"}
        for name, columns in self.job.tables.items():
            table = self.job.table(name)
            self.assertEqual({str(field.type) for field in table.schema} - allowed, set(), name)
            self.assertEqual(tuple(table.schema.names), columns)
            self.assertEqual(", ".join(f"{one.name} {one.type}" for one in list(table.schema)[:4]), PLACE)
            table.to_pyarrow().validate(full=True)
            if name != rows.FILES:
                self.assertEqual(table.schema.metadata[b"gpumemtrace.table_version"], b"1")

    def test_columns_say_their_units(self):
        sites = self.job.table("sites").schema
        self.assertEqual(sites.field("peak_bytes").metadata, {b"unit": b"bytes"})
        self.assertIsNone(sites.field("allocs").metadata)
        process = self.job.table("process").schema
        self.assertEqual(process.field("start_epoch_ns").metadata, {b"unit": b"nanoseconds since 1970"})
        self.assertEqual(process.field("duration_ns").metadata, {b"unit": b"nanoseconds"})

    def test_addresses_of_64_bits_keep_their_bits(self):
        story = job_story.rank_story(0, 1)
        story.alloc(64, "/home/me/train.py:1 in main", address=0xFFFF_8000_0000_0000)
        path = story.write("address.gmt.gz")
        (block,) = gpumemtrace.open_job(path).table("blocks").to_pyarrow().to_pylist()
        self.assertEqual(block["address"], 0xFFFF_8000_0000_0000 - (1 << 64))

    def test_columns_and_filters_select_rows(self):
        table = self.job.table("sites", columns=["line", "rank", "peak_bytes"], layer="torch", rank=(2, 3)).to_pyarrow()
        self.assertEqual(table.column_names, ["line", "rank", "peak_bytes"])
        self.assertEqual(set(table["rank"].to_pylist()), {2, 3})
        self.assertEqual(table.schema.field("rank").type, pyarrow.int32())
        expected = [row for row in self.job.table("sites").to_pyarrow().to_pylist() if row["rank"] in (2, 3)]
        self.assertEqual([row["line"] for row in table.to_pylist()], [row["line"] for row in expected])
        places = self.job.table("events", columns=["host"], host="node1", steps=(3, 5)).to_pyarrow()
        self.assertEqual(set(places["host"].to_pylist()), {"node1"})
        expected = self.job.table("events").to_pyarrow().to_pylist()
        expected = [row for row in expected if row["host"] == "node1" and row["step"] in (3, 4)]
        self.assertEqual(len(places), len(expected))
        self.assertEqual(len(self.job.table("sites", job="another").to_pyarrow()), 0)

    def test_unknown_names_are_errors_before_anything_is_read(self):
        for words, arguments in (
            ("there is no table site; tables are events, blocks", {"name": "site"}),
            ("table sites has no column lines; it has job, host", {"name": "sites", "columns": ["lines"]}),
            ("one text; give a list", {"name": "sites", "columns": "line"}),
            ("table sites cannot be filtered by time", {"name": "sites", "time": (0, 1)}),
            ("no number of a rank", {"name": "sites", "rank": "3"}),
            ("no column is wanted", {"name": "sites", "columns": []}),
            ("can only be filtered by rank", {"name": "files", "layer": "torch"}),
        ):
            with self.subTest(words), self.assertRaisesRegex(gpumemtrace.ArgumentError, words):
                self.job.table(**arguments)

    def test_pandas_polars_and_duckdb_read_the_job(self):
        sites = self.job.table("sites")
        expected = sum(sites.to_pyarrow()["total_bytes"].to_pylist())
        self.assertEqual(sites.to_pandas()["total_bytes"].sum(), expected)
        self.assertEqual(sites.to_polars()["total_bytes"].sum(), expected)
        self.assertEqual(duckdb.sql("select sum(total_bytes) from sites").fetchall(), [(expected,)])

    def test_processes_without_a_launcher_have_a_job_and_no_rank(self):
        path = stories.training("alone.gmt.gz")
        (row,) = gpumemtrace.open_job(path).table("process").to_pyarrow().to_pylist()
        self.assertEqual((row["rank"], row["attempt"], row["world_size"]), (None, 0, None))
        self.assertEqual(row["job"], engine_job.ranks(path)["job"])
        self.assertEqual(row["program"], engine_job.ranks(path)["ranks"][0]["program"])


class OtherFiles(unittest.TestCase):
    """Bad input: one line for each thing, and the rest is read."""

    READ = (
        "import sys, gpumemtrace\n"
        "try:\n"
        "    job = gpumemtrace.open_job(sys.argv[1:])\n"
        "    print(job.remarks)\n"
        "    table = job.table('process').to_pyarrow()\n"
        "    print(sorted(table['rank'].to_pylist()))\n"
        "    print([(row['state'], row['message']) for row in job.table('files').to_pyarrow().to_pylist()])\n"
        "except gpumemtrace.Error as error:\n"
        "    print(type(error).__name__, error)\n"
    )

    def test_a_folder_of_other_things_is_read_as_ranks_reads_it(self):
        folder = fresh("other")
        for rank in range(3):
            job_story.write_rank(rank, 3, "other")
        job_story.summary(f"{folder}/train.r0.gmt.gz")
        shutil.copy(f"{folder}/train.r1.gmt.gz", f"{folder}/no-ending")
        os.mkdir(f"{folder}/.hidden")
        shutil.copy(f"{folder}/train.r1.gmt.gz", f"{folder}/.hidden/train.gmt.gz")
        os.symlink(folder, f"{folder}/loop")
        for name, content in (("notes.txt", b"notes"), ("empty", b""), ("data.gz", b"\x1f\x8b\x08")):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)
        job = gpumemtrace.open_job(folder)
        self.assertEqual(
            [os.path.basename(path) for path in job.paths],
            ["no-ending", "train.r0.gmt.gz", "train.r1.gmt.gz", "train.r2.gmt.gz"],
        )
        self.assertEqual(
            job.remarks,
            (
                f"1 summary left out, because tables need the recording: {folder}/train.r0.summary.gz",
                f"3 files left out: not a recording: {folder}/data.gz, ...",
            ),
        )

    def test_other_versions_and_cut_files_are_one_line_and_the_rest_is_read(self):
        folder = fresh("bad")
        job_story.write_rank(0, 3, "bad")
        w.write(f"{folder}/newer.gmt.gz", w.process(), head=w.header(major=99))
        cut = job_story.write_rank(1, 3, "bad", steps=400)
        with open(cut, "r+b") as file:
            file.truncate(os.path.getsize(cut) // 2)
        with open(f"{folder}/zero.gmt.gz", "wb"):
            pass
        done = run(self.READ, folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        remarks, ranks, states = done.stdout.splitlines()
        self.assertEqual((remarks, ranks), ("()", "[0, 1]"))
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 3, done.stderr)
        self.assertTrue(all(line.startswith("gpumemtrace: warning: ") for line in lines), lines)
        self.assertRegex(lines[0], "left out: .*newer.gmt.gz: has format 99")
        self.assertRegex(lines[1], "train.r1.gmt.gz: ")
        self.assertRegex(lines[2], "left out: .*zero.gmt.gz: ")
        self.assertEqual([state for state, _ in eval(states)], ["unreadable", "complete", "damaged", "unreadable"])

    def test_strict_raises_for_the_first_file_that_cannot_be_read(self):
        folder = fresh("strict")
        job_story.write_rank(0, 2, "strict")
        w.write(f"{folder}/a-newer.gmt.gz", w.process(), head=w.header(major=99))
        with self.assertRaisesRegex(gpumemtrace.NewerError, "a-newer"):
            gpumemtrace.open_job(folder, strict=True).table("sites").to_pyarrow()
        with self.assertRaisesRegex(gpumemtrace.FileError, "absent: cannot be opened"):
            gpumemtrace.open_job([folder, f"{folder}/absent"], strict=True)

    def test_no_file_is_an_error_of_one_line(self):
        folder = fresh("nothing")
        with open(f"{folder}/notes.txt", "w", encoding="utf-8"):
            pass
        done = run(self.READ, folder)
        self.assertEqual(
            done.stdout,
            f"FileError no recording was found; 1 file left out: not a recording: {folder}/notes.txt\n",
        )
        for operand, words in ((f"{folder}/*.gmt.gz", "no file matches"), ("/no/such", "cannot be opened")):
            self.assertRegex(run(self.READ, operand).stdout, f"^FileError no recording was found; .*{words}.*\n$")

    def test_patterns_and_files_named_twice_count_once(self):
        folder = fresh("twice")
        paths = [job_story.write_rank(rank, 2, "twice") for rank in range(2)]
        job = gpumemtrace.open_job([f"{folder}/*.gmt.gz", folder, *paths])
        self.assertEqual(list(job.paths), paths)

    def test_messages_have_no_commands_for_terminals(self):
        folder = fresh("odd")
        path = f"{folder}/\x1b[2J\n.gmt.gz"
        with open(path, "wb") as file:
            file.write(b"x")
        job_story.write_rank(0, 1, "odd")
        done = run(self.READ, folder)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertNotIn("\x1b", done.stderr)


class Tasks(unittest.TestCase):
    def test_small_files_share_a_task_and_large_ones_do_not(self):
        folder = fresh("tasks")
        paths = []
        for number in range(130):
            paths.append(f"{folder}/{number}")
            with open(paths[-1], "wb") as file:
                file.truncate(20 << 20 if number >= 128 else 100)
        tasks = files.tasks(paths)
        self.assertEqual([len(task) for task in tasks], [64, 64, 1, 1])
        self.assertEqual([path for task in tasks for path in task], paths)
        self.assertEqual(files.tasks([]), [])
        self.assertEqual(len(files.tasks(paths[:10], most_files=3)), 4)


class Import(unittest.TestCase):
    def test_importing_the_package_loads_nothing_of_it(self):
        done = run("import sys, gpumemtrace; print([one for one in sys.modules if '_jobs' in one or one == 'pyarrow'])")
        self.assertEqual(done.stdout, "[]\n", done.stderr)


if __name__ == "__main__":
    tap.main()
