# SPDX-License-Identifier: MIT
"""`gpumemtrace export` and `gpumemtrace.export`: the files of data engines, complete or not there at all."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import duckdb  # noqa: E402
import engine_job  # noqa: E402
import job_story  # noqa: E402
import polars  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.csv  # noqa: E402
import pyarrow.dataset  # noqa: E402
import pyarrow.parquet  # noqa: E402
import tap  # noqa: E402

import gpumemtrace  # noqa: E402
from gpumemtrace._jobs import export_files  # noqa: E402


def place(name):
    """Returns a path at which nothing is."""
    path = cli.place(name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def export(*words, code=0, program=None):
    """Runs the verb with this Python, and returns the finished process."""
    done = subprocess.run(
        [program or cli.CLI, "export", *words],
        capture_output=True,
        text=True,
        env={**cli.PLAIN, "PATH": os.environ["PATH"]},
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def tree(folder):
    """Returns the paths of all files below a folder."""
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("exported")
        cls.out = place("tables")
        cls.done = export("-o", cls.out, "--python", sys.executable, cls.folder)
        cls.job = gpumemtrace.open_job(cls.folder)

    def test_the_verb_says_what_it_wrote(self):
        count = sum(len(self.job.table(name).to_pyarrow()) for name in self.job.tables)
        self.assertEqual(
            self.done.stdout, f"wrote {self.out}: 13 tables, 8 recordings of 1 job, {count:,} rows\n", self.done.stderr
        )
        self.assertEqual(self.done.stderr, "")

    def test_each_table_is_one_file_for_the_job_with_the_rows_of_all_ranks(self):
        expected = [f"{name}/slurm_job_4711.0.parquet" for name in self.job.tables]
        self.assertEqual(tree(self.out), sorted([*expected, "_gpumemtrace.json"]))
        for name in self.job.tables:
            table = pyarrow.parquet.read_table(f"{self.out}/{name}/slurm_job_4711.0.parquet")
            self.assertEqual(table.to_pylist(), self.job.table(name).to_pyarrow().to_pylist(), name)

    def test_schema_units_and_version_are_in_the_files_and_beside_them(self):
        schema = pyarrow.parquet.read_schema(f"{self.out}/sites/slurm_job_4711.0.parquet")
        self.assertEqual(schema.field("peak_bytes").metadata[b"unit"], b"bytes")
        self.assertEqual(schema.metadata[b"gpumemtrace.table_version"], b"1")
        units = json.loads(schema.metadata[b"gpumemtrace.units"])
        self.assertEqual(units["total_bytes"], "bytes")
        ((found,),) = duckdb.sql(
            f"select decode(value) from parquet_kv_metadata('{self.out}/sites/*.parquet') "
            "where decode(key) = 'gpumemtrace.units'"
        ).fetchall()
        self.assertEqual(json.loads(found), units)
        with open(f"{self.out}/_gpumemtrace.json", encoding="utf-8") as file:
            about = json.load(file)
        self.assertEqual(
            (about["schema"], about["table_version"], about["jobs"]), ("gpumemtrace.export/1", 1, ["slurm job 4711.0"])
        )
        self.assertEqual((about["recordings"], about["unreadable"], about["format"]), (8, 0, "parquet"))
        for name, table in about["tables"].items():
            self.assertEqual([one["name"] for one in table["columns"]], list(self.job.tables[name]))
            self.assertEqual(table["rows"], len(self.job.table(name).to_pyarrow()))
        self.assertIn(
            {"name": "made_time_ns", "type": "int64", "unit": "nanoseconds"}, about["tables"]["blocks"]["columns"]
        )

    def test_duckdb_polars_and_arrow_read_all_tables(self):
        for name in self.job.tables:
            count = len(self.job.table(name).to_pyarrow())
            pattern = f"{self.out}/{name}/*.parquet"
            self.assertEqual(duckdb.sql(f"select count(*) from '{pattern}'").fetchall(), [(count,)], name)
            self.assertEqual(polars.scan_parquet(pattern).collect().height, count, name)
            self.assertEqual(pyarrow.dataset.dataset(f"{self.out}/{name}").count_rows(), count, name)

    def test_a_partition_has_a_folder_for_each_value_and_gives_the_same_rows(self):
        out = place("parts")
        words = ("--partition", "job,rank", "--table=sites", "--table", "findings", "--python", sys.executable)
        export("-o", out, *words, self.folder)
        self.assertIn("sites/job=slurm job 4711.0/rank=3/part.parquet", tree(out))
        self.assertEqual(len([path for path in tree(out) if path.startswith("sites/")]), 8)
        query = "select job, rank, sum(total_bytes) from {} group by all order by rank"
        plain = duckdb.sql(query.format(f"'{self.out}/sites/*.parquet'")).fetchall()
        parts = duckdb.sql(
            query.format(f"read_parquet('{out}/sites/**/*.parquet', hive_partitioning = true)")
        ).fetchall()
        self.assertEqual(parts, plain)
        dataset = pyarrow.dataset.dataset(f"{out}/sites", partitioning="hive")
        self.assertEqual(
            dataset.count_rows(), sum(len(self.job.table("sites", rank=rank).to_pyarrow()) for rank in range(8))
        )

    def test_other_formats_have_the_same_rows(self):
        expected = self.job.table("steps").to_pyarrow()
        for kind in ("arrow", "csv"):
            out = place(kind)
            export(
                "-o", out, "--format", kind, "--table=steps", "--table=phases", "--python", sys.executable, self.folder
            )
            path = f"{out}/steps/slurm_job_4711.0.{kind}"
            if kind == "arrow":
                found = pyarrow.ipc.open_file(path).read_all()
                self.assertEqual(found.schema.field("peak_bytes").metadata[b"unit"], b"bytes")
            else:
                found = pyarrow.csv.read_csv(path)
                found = found.select(expected.column_names).cast(expected.schema)
            self.assertEqual(found.to_pylist(), expected.to_pylist(), kind)
            # A table without rows has its columns.
            self.assertTrue(os.path.exists(f"{out}/phases/slurm_job_4711.0.{kind}"))

    def test_several_jobs_have_a_file_each_although_their_names_are_alike(self):
        folder = place("jobs")
        for number, job in enumerate(("a/b", "a b", "A_B")):
            job_story.write_rank(0, 1, "jobs", job=job, name=f"jobs/{number}.gmt.gz")
        out = place("of-jobs")
        done = gpumemtrace.export(folder, out, tables=["sites"], parallel=1)
        self.assertEqual((done.jobs, done.recordings), (3, 3))
        names = [path for path in tree(out) if path.startswith("sites/")]
        self.assertEqual(len({name.lower() for name in names}), 3, names)
        self.assertEqual(duckdb.sql(f"select count(distinct job) from '{out}/sites/*.parquet'").fetchall(), [(3,)])

    def test_many_open_files_are_closed_and_continued_in_another_one(self):
        before, export_files._MOST_OPEN = export_files._MOST_OPEN, 2
        self.addCleanup(setattr, export_files, "_MOST_OPEN", before)
        out = place("few-open")
        gpumemtrace.export(self.folder, out, tables=["sites", "steps", "curve"], partition="host")
        self.assertGreater(len(tree(out)), 10)
        query = "select rank, count(*), sum(total_bytes) from '{}' group by rank order by rank"
        self.assertEqual(
            duckdb.sql(query.format(f"{out}/sites/**/*.parquet")).fetchall(),
            duckdb.sql(query.format(f"{self.out}/sites/*.parquet")).fetchall(),
        )


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = job_story.write_rank(0, 1, "one")

    def export(self, *words, code=0):
        return export(*words, "--python", sys.executable, "--table=sites", code=code)

    def test_only_an_older_export_is_replaced_and_only_by_force(self):
        out = place("again")
        self.export("-o", out, self.path)
        before = os.stat(f"{out}/_gpumemtrace.json").st_ino
        self.assertIn("there is an export already", self.export("-o", out, self.path, code=3).stderr)
        self.assertEqual(os.stat(f"{out}/_gpumemtrace.json").st_ino, before)
        with open(f"{out}/sites/old.parquet", "w", encoding="utf-8"):
            pass
        self.export("-o", out, "--force", self.path)
        self.assertNotEqual(os.stat(f"{out}/_gpumemtrace.json").st_ino, before)
        self.assertNotIn("sites/old.parquet", tree(out))
        foreign = place("foreign")
        os.mkdir(foreign)
        self.export("-o", foreign, self.path)
        shutil.rmtree(foreign)
        os.mkdir(foreign)
        with open(f"{foreign}/thesis.tex", "w", encoding="utf-8"):
            pass
        self.assertIn("holds other things", self.export("-o", foreign, "--force", self.path, code=3).stderr)
        self.assertEqual(tree(foreign), ["thesis.tex"])
        self.assertIn("is no folder", self.export("-o", self.path, "--force", self.path, code=3).stderr)
        self.assertGreater(os.path.getsize(self.path), 0)

    def test_a_failure_leaves_nothing_and_keeps_the_older_export(self):
        folder = place("bad-job")
        os.mkdir(folder)
        with open(f"{folder}/a.gmt.gz", "w", encoding="utf-8"):
            pass
        out = place("kept")
        self.export("-o", out, self.path)
        before = tree(out)
        done = self.export("-o", out, "--force", folder, code=3)
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
        self.assertIn("error: export: no recording could be read", done.stderr)
        self.assertEqual(tree(out), before)
        self.assertEqual([name for name in os.listdir(cli.FOLDER) if "unfinished" in name or ".old-" in name], [])
        self.assertIn("cannot be written", self.export("-o", "/proc/none/x", self.path, code=3).stderr)

    def test_an_ended_export_leaves_nothing(self):
        fifo = cli.place("fifo.gmt.gz")
        os.mkfifo(fifo)
        self.addCleanup(os.unlink, fifo)
        out = place("ended")
        process = subprocess.Popen(
            [cli.CLI, "export", "-o", out, "--python", sys.executable, self.path, fifo],
            env={**cli.PLAIN, "PATH": os.environ["PATH"]},
            stderr=subprocess.PIPE,
        )
        # The worker has opened the pipe when this succeeds, so the export has begun.
        with open(fifo, "wb"):
            self.assertEqual(len([name for name in os.listdir(cli.FOLDER) if name.startswith("ended.unfinished")]), 1)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 128 + signal.SIGTERM, process.stderr.read())
        process.stderr.close()
        self.assertEqual([name for name in os.listdir(cli.FOLDER) if name.startswith("ended")], [])

    def test_a_copy_of_a_recording_counts_once_and_is_named(self):
        folder = place("copies")
        path = job_story.write_rank(0, 1, "copies")
        shutil.copy(path, f"{folder}/z-copy.gmt.gz")
        done = self.export("-o", place("of-copies"), folder)
        self.assertIn("1 recording of 1 job", done.stdout)
        self.assertIn(f"left out: {folder}/z-copy.gmt.gz: the same process as in another file", done.stderr)

    def test_exit_codes_are_those_of_ranks(self):
        folder = place("codes")
        job_story.write_rank(0, 2, "codes")
        job_story.write_rank(1, 2, "codes", ends=False)
        self.export("-o", place("codes1"), folder)
        self.export("-o", place("codes2"), "--strict", folder, code=4)
        with open(f"{folder}/bad.gmt.gz", "w", encoding="utf-8"):
            pass
        done = self.export("-o", place("codes3"), folder)
        self.assertIn("2 recordings of 1 job", done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        done = self.export("-o", place("codes4"), folder, f"{folder}/bad.gmt.gz", code=3)
        self.assertIn("2 recordings of 1 job", done.stdout)
        for words, code in (
            (["-o", "x"], 2),
            ([folder], 2),
            (["-o", "x", "--format=orc", folder], 2),
            (["-o", "x", "--table=site", folder], 2),
        ):
            self.export(*words, code=code)

    def test_a_process_that_dies_is_one_line_and_the_rest_is_written(self):
        from gpumemtrace._jobs import export_worker

        folder = place("dies")
        for rank in range(3):
            job_story.write_rank(rank, 3, "dies")
        start = export_worker.Worker._start

        def fragile(self):
            # A stand-in for a process that the kernel kills because memory is short.
            process = start(self)
            ask = process.stdin.write

            def write(text):
                if "train.r1" in text:
                    process.kill()
                    process.wait()
                return ask(text)

            process.stdin.write = write
            return process

        export_worker.Worker._start = fragile
        self.addCleanup(setattr, export_worker.Worker, "_start", start)
        done = gpumemtrace.export(folder, place("after-death"), parallel=1)
        self.assertEqual((done.recordings, done.unreadable), (2, 1))
        table = pyarrow.parquet.read_table(f"{done.output}/files")
        ((message,),) = [[row["message"]] for row in table.to_pylist() if row["state"] == "unreadable"]
        self.assertRegex(message, "train.r1.gmt.gz: the process that read it ended with signal 9")


class Interpreter(unittest.TestCase):
    """How the program finds the Python package and a Python for it."""

    def test_a_python_without_pyarrow_is_told_what_to_install(self):
        path = job_story.write_rank(0, 1, "needs")
        bare = cli.place("bare-python")
        with open(bare, "w", encoding="utf-8") as file:
            # -S: without the packages of the environment.
            file.write(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        os.chmod(bare, 0o755)
        done = export("-o", place("no-arrow"), "--python", bare, path, code=3)
        self.assertRegex(
            done.stderr, r"^gpumemtrace: error: export: this needs pyarrow: type `\S+ -m pip install pyarrow`, .*\n$"
        )
        done = export("-o", place("no-python"), "--python", "/no/such/python", path, code=3)
        self.assertRegex(done.stderr, "^gpumemtrace: error: export: /no/such/python: No such file or directory: .*\n$")

    def test_a_copy_of_the_program_without_the_package_says_so(self):
        folder = place("alone")
        os.makedirs(f"{folder}/bin")
        shutil.copy(cli.CLI, f"{folder}/bin/gpumemtrace")
        done = export("-o", "x", "y", program=f"{folder}/bin/gpumemtrace", code=3)
        self.assertRegex(
            done.stderr, "^gpumemtrace: error: export: the Python package of gpumemtrace was not found near .*\n$"
        )

    def test_a_wheel_uses_the_python_that_it_was_installed_for(self):
        version = f"python3.{sys.version_info[1]}"
        prefix = place("prefix")
        packages = f"{prefix}/lib/{version}/site-packages"
        shutil.copytree(os.path.join(stories.PACKAGE, "gpumemtrace"), f"{packages}/gpumemtrace")
        os.makedirs(f"{packages}/gpumemtrace/bin")
        os.makedirs(f"{packages}/gpumemtrace/lib")
        shutil.copy(cli.CLI, f"{packages}/gpumemtrace/bin/gpumemtrace")
        shutil.copy(stories.LIBRARY, f"{packages}/gpumemtrace/lib/")
        os.makedirs(f"{prefix}/bin")
        with open(f"{prefix}/bin/{version}", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$0" >>{prefix}/used\nexec {sys.executable} "$@"\n')
        os.chmod(f"{prefix}/bin/{version}", 0o755)
        path = job_story.write_rank(0, 1, "of-wheel")
        done = export("-o", place("by-wheel"), path, program=f"{packages}/gpumemtrace/bin/gpumemtrace")
        self.assertIn("1 recording of 1 job", done.stdout)
        with open(f"{prefix}/used", encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{prefix}/bin/{version}\n")

    def test_modules_of_the_current_folder_are_not_imported(self):
        folder = place("shadow")
        os.mkdir(folder)
        for name in ("json", "pyarrow", "gpumemtrace"):
            with open(f"{folder}/{name}.py", "w", encoding="utf-8") as file:
                file.write("raise SystemExit('a module of the current folder')\n")
        path = job_story.write_rank(0, 1, "of-shadow")
        done = subprocess.run(
            [cli.CLI, "export", "-o", place("by-shadow"), "--python", sys.executable, path],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_python_itself_has_the_verb(self):
        path = job_story.write_rank(0, 1, "of-python")
        done = subprocess.run(
            [sys.executable, "-m", "gpumemtrace", "export", "-o", place("by-python"), "--table", "sites", path],
            env={**os.environ, "PYTHONPATH": stories.PACKAGE},
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1 table, 1 recording of 1 job", done.stdout)


if __name__ == "__main__":
    tap.main()
