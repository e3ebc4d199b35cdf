# SPDX-License-Identifier: MIT
"""The questions of docs/engines.md in DuckDB, and the job in Dask: the answers are those of `ranks --json`."""

import os
import re
import shutil
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import duckdb  # noqa: E402
import engine_job  # noqa: E402
import tap  # noqa: E402

import gpumemtrace  # noqa: E402


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
        cls.folder = engine_job.write("asked")
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
            self.assertEqual(question.answer, engine_job.shown(rows), question.title)

    def test_the_page_names_the_version_of_the_tables(self):
        with open(engine_job.PAGE, encoding="utf-8") as file:
            (version,) = set(re.findall(r"table version (\d+)", file.read()))
        self.assertEqual(version.encode(), self.job.table("sites").schema.metadata[b"gpumemtrace.table_version"])


if __name__ == "__main__":
    tap.main()
