# SPDX-License-Identifier: MIT
"""The questions of docs/data/engines.md in DuckDB, and the job in Dask: the answers are those of `ranks --json`."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import duckdb  # noqa: E402
import engine_job  # noqa: E402
import sql_page  # noqa: E402
import tap  # noqa: E402

import gpumemtrace  # noqa: E402
import gpumemtrace.dask  # noqa: E402


def ask(connection):
    """Returns the rows that DuckDB gives for each question."""
    answers = []
    for question in engine_job.questions():
        for statement in question.statements[:-1]:
            connection.execute(statement)
        answers.append(connection.execute(question.statements[-1]).fetchall())
    return answers


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("asked", has_earlier_attempt=True)
        cls.job = gpumemtrace.open_job(cls.folder)
        cls.out = cli.place("asked-tables")
        shutil.rmtree(cls.out, ignore_errors=True)
        gpumemtrace.export(cls.folder, cls.out)

    def by_parquet(self):
        connection = duckdb.connect()
        for name in self.job.tables:
            connection.execute(f"create view {name} as from '{self.out}/{name}/*.parquet'")
        return ask(connection)

    def test_duckdb_answers_from_parquet_as_ranks_does(self):
        engine_job.check(self, self.by_parquet(), self.folder)

    def test_duckdb_answers_from_arrow_as_ranks_does(self):
        connection = duckdb.connect()
        for name in self.job.tables:
            connection.register(name, self.job.table(name).to_pyarrow())
        engine_job.check(self, ask(connection), self.folder)

    def test_the_page_shows_these_answers(self):
        answers = self.by_parquet()
        if os.environ.get("GMT_TEST_UPDATE"):
            engine_job.update(answers)
        for question, rows in zip(engine_job.questions(), answers):
            self.assertEqual(question.answer, sql_page.shown(rows), question.title)

    def test_the_page_names_the_version_of_the_tables(self):
        with open(engine_job.PAGE, encoding="utf-8") as file:
            (version,) = set(re.findall(r"table version (\d+)", file.read()))
        self.assertEqual(version.encode(), self.job.table("sites").schema.metadata[b"gpumemtrace.table_version"])


class Dask(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("in-dask")

    def test_counts_sums_and_peaks_are_those_of_the_program(self):
        job = engine_job.ranks(self.folder)
        sites = gpumemtrace.dask.read(self.folder, "sites", layer="torch", files_per_task=3)
        self.assertEqual(sites.npartitions, 3)
        peaks = sites.groupby("rank")["peak_bytes"].sum().compute()
        expected = [(rank["rank"], rank["peak_bytes"]) for rank in job["ranks"]]
        self.assertEqual(sorted(peaks.to_dict().items()), expected)
        events = gpumemtrace.open_job(self.folder).table("events").to_pyarrow()
        self.assertEqual(len(gpumemtrace.dask.read(self.folder, "events")), len(events))

    def test_the_processes_of_dask_read_the_recordings(self):
        program = cli.place("by_processes.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(
                "import sys\nimport gpumemtrace.dask\n"
                "if __name__ == '__main__':\n"
                "    events = gpumemtrace.dask.read(sys.argv[1], 'events', files_per_task=4)\n"
                "    print(events['size_bytes'].sum().compute(scheduler='processes', num_workers=2))\n"
            )
        done = subprocess.run(
            [sys.executable, program, self.folder],
            env={**os.environ, "PYTHONPATH": stories.PACKAGE},
            capture_output=True,
            text=True,
        )
        events = gpumemtrace.open_job(self.folder).table("events").to_pyarrow()
        self.assertEqual((done.stdout, done.returncode), (f"{sum(events['size_bytes'].to_pylist())}\n", 0), done.stderr)

    def test_columns_and_filters_select_and_wrong_names_are_errors(self):
        frame = gpumemtrace.dask.read(self.folder, "steps", columns=["rank", "step"], rank=3, steps=(2, 4)).compute()
        self.assertEqual(set(frame.itertuples(index=False, name=None)), {(3, 2), (3, 3)})
        for words, arguments in (
            ("there is no table site", {"table": "site"}),
            ("there is no filter ranks", {"ranks": 3}),
            ("cannot be filtered by time", {"time": (0, 1)}),
        ):
            with self.assertRaisesRegex(gpumemtrace.ArgumentError, words):
                gpumemtrace.dask.read(self.folder, **arguments)


if __name__ == "__main__":
    tap.main()
