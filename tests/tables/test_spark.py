# SPDX-License-Identifier: MIT
"""The data source of Spark, in Spark's local mode: rows, sums and peaks are those of the program. Only with --long."""

import json
import os
import shutil
import sys
import unittest

import stories

if not os.environ.get("GMT_TEST_LONG"):
    print("1..0 # SKIP Spark is large: scripts/test --long")
    sys.exit(0)
stories.enter_environment(os.path.abspath(__file__), "data-engine", "spark")

import cli  # noqa: E402 (these need the environment)
import engine_job  # noqa: E402
import job_story  # noqa: E402
import tap  # noqa: E402
import write_recording as w  # noqa: E402
from pyspark.sql import SparkSession, functions  # noqa: E402
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, In, IsNotNull, LessThan  # noqa: E402

import gpumemtrace  # noqa: E402
import gpumemtrace.spark  # noqa: E402
from gpumemtrace._jobs import rows  # noqa: E402

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
FILES = 512


def setUpModule():
    global spark
    # Workers import the package, and use this Python.
    os.environ["PYTHONPATH"] = stories.PACKAGE
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", cli.place("warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    gpumemtrace.spark.register(spark)


def tearDownModule():
    spark.stop()


def load(table, *paths, **options):
    reader = spark.read.format("gpumemtrace").option("table", table)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load(list(paths) if len(paths) > 1 else paths[0])


def listed(frame):
    return [tuple(row) for row in frame.collect()]


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("in-spark", has_earlier_attempt=True)
        cls.job = gpumemtrace.open_job(cls.folder)

    def test_the_workers_read_addresses_with_the_storage_options(self):
        # Only the options say where the folder is.
        options = json.dumps({"path": self.folder, "target_protocol": "file"})
        (expected,) = listed(load("sites", self.folder).agg(functions.count("*"), functions.sum("peak_bytes")))
        for address in "dir://*.gmt.gz", "dir://":
            sites = load("sites", address, storageOptions=options, filesPerTask=3)
            self.assertEqual(sites.rdd.getNumPartitions(), 3)
            self.assertEqual(listed(sites.agg(functions.count("*"), functions.sum("peak_bytes"))), [expected])

    def ask(self):
        answers = []
        for question in engine_job.questions():
            for statement in question.statements[:-1]:
                spark.sql(statement)
            answers.append(listed(spark.sql(question.statements[-1])))
        return answers

    def test_spark_answers_the_questions_of_the_page_as_ranks_does(self):
        for name in engine_job.TABLES:
            load(name, self.folder).createOrReplaceTempView(name)
        engine_job.check(self, self.ask(), self.folder)

    def test_spark_answers_from_parquet_as_ranks_does(self):
        out = cli.place("spark-tables")
        shutil.rmtree(out, ignore_errors=True)
        gpumemtrace.export(self.folder, out, tables=engine_job.TABLES)
        for name in engine_job.TABLES:
            spark.read.parquet(f"{out}/{name}").createOrReplaceTempView(name)
        engine_job.check(self, self.ask(), self.folder)

    def test_each_table_has_the_rows_of_the_recordings(self):
        for name in self.job.tables:
            frame = load(name, self.folder, filesPerTask=3)
            expected = self.job.table(name).to_pyarrow()
            self.assertEqual(frame.columns, expected.column_names)
            found = sorted(map(repr, listed(frame)))
            self.assertEqual(found, sorted(repr(tuple(row.values())) for row in expected.to_pylist()), name)

    def test_columns_can_be_chosen_and_say_their_units(self):
        frame = load("sites", f"{self.folder}/*.gmt.gz", columns="rank, peak_bytes")
        self.assertEqual(frame.columns, ["rank", "peak_bytes"])
        self.assertEqual(frame.schema["peak_bytes"].metadata, {"comment": "bytes"})
        self.assertEqual(frame.groupBy("rank").count().count(), 8)


class Large(unittest.TestCase):
    """512 files."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cli.place("large")
        for rank in range(FILES):
            size = (64 + rank % 7) << 20
            job_story.write_rank(rank, FILES, "large", steps=4, size=size)

    def test_512_files_give_the_counts_sums_and_peaks_of_the_program(self):
        job = engine_job.ranks(self.folder)
        sites = load("sites", self.folder)
        self.assertEqual(sites.rdd.getNumPartitions(), FILES // 64)
        peaks = (
            sites.where("layer = 'torch'").groupBy("rank").agg(functions.sum("peak_bytes"), functions.sum("live_bytes"))
        )
        expected = [(rank["rank"], rank["peak_bytes"], rank["end_bytes"]) for rank in job["ranks"]]
        self.assertEqual(sorted(listed(peaks)), expected)
        self.assertEqual(len(expected), FILES)
        (total,) = listed(sites.where("layer = 'torch'").agg(functions.sum("peak_bytes")))
        self.assertEqual(total, (job["sum_peak_bytes"],))
        events = gpumemtrace.open_job(self.folder).table("events", columns=["rank", "size_bytes"]).to_pyarrow()
        (found,) = listed(load("events", self.folder).agg(functions.count("*"), functions.sum("size_bytes")))
        self.assertEqual(found, (len(events), sum(events["size_bytes"].to_pylist())))

    def test_filters_give_the_same_rows_where_spark_may_push_them_down_and_where_not(self):
        answers = {}
        for is_pushed in ("false", "true"):
            spark.conf.set(PUSHDOWN, is_pushed)
            answers[is_pushed] = [
                sorted(map(repr, listed(load(table, self.folder).where(condition))))
                for table, condition in (
                    ("sites", "rank = 3"),
                    ("sites", "rank in (3, 500) and layer = 'torch' and device = 0"),
                    ("events", "host = 'node1' and step >= 1 and step < 3"),
                    ("blocks", "rank = 9 and made_time_ns > 10 and made_time_ns <= 400000"),
                    ("steps", "rank < 2 and step = 2"),
                    ("curve", "rank = 1 and time_ns >= 100 and live_bytes > 0"),
                    ("files", "rank = 7"),
                )
            ]
        self.assertEqual(answers["false"], answers["true"])
        self.assertTrue(all(answers["true"]), [len(one) for one in answers["true"]])


class Pushdown(unittest.TestCase):
    """What the reader makes of filters, without a session."""

    def reader(self, table):
        return gpumemtrace.spark.FilteringReader(("a",), rows.Choice(table), 64, False)

    def test_filters_select_recordings_and_rows_and_all_go_back_to_spark(self):
        reader = self.reader("events")
        filters = [
            EqualTo(("rank",), 3),
            In(("host",), ("a", "b")),
            GreaterThanOrEqual(("time_ns",), 5),
            LessThan(("time_ns",), 9),
            EqualTo(("layer",), "torch"),
            EqualTo(("device",), -1),
            EqualTo(("step",), 4),
            IsNotNull(("line",)),
            EqualTo(("line",), "x"),
        ]
        self.assertEqual(list(reader.pushFilters(filters)), filters)
        choice = reader.choice
        self.assertEqual(choice.place, (("rank", (3,)), ("host", ("a", "b"))))
        self.assertEqual((choice.time, choice.steps, choice.layer, choice.device), ((5, 9), (4, 5), "torch", -1))

    def test_filters_that_a_table_cannot_use_change_nothing(self):
        for table, one in (
            ("frames", EqualTo(("depth",), 1)),
            ("process", EqualTo(("start_epoch_ns",), 5)),
            ("files", EqualTo(("state",), "damaged")),
            ("events", EqualTo(("layer",), "no such layer")),
            ("events", EqualTo(("time_ns",), 1.5)),
            ("events", EqualTo(("size_bytes",), 5)),
        ):
            reader = self.reader(table)
            self.assertEqual(list(reader.pushFilters([one])), [one])
            self.assertEqual(reader.choice, rows.Choice(table), one)


class BadInput(unittest.TestCase):
    def error_of(self, call):
        try:
            call()
        except Exception as error:
            return str(error)
        self.fail("no error")

    def test_no_file_and_unknown_names_are_one_line_each(self):
        folder = cli.place("spark-nothing")
        os.makedirs(folder, exist_ok=True)
        path = job_story.write_rank(0, 1, "spark-one")
        for words, call in (
            ("no recording was found", lambda: load("sites", folder)),
            ("no file matches", lambda: load("sites", f"{folder}/*.gmt.gz")),
            ("there is no table site; tables are", lambda: load("site", path)),
            ("has no column lines; it has", lambda: load("sites", path, columns="lines")),
            ("0 is no number of files", lambda: load("sites", path, filesPerTask=0).count()),
            ("storageOptions: key is no JSON", lambda: load("sites", path, storageOptions="key")),
            ("storageOptions: [1] is no JSON object", lambda: load("sites", path, storageOptions="[1]")),
        ):
            self.assertEqual(len([line for line in self.error_of(call).splitlines() if words in line]), 1, words)

    def test_filters_are_pushed_down_exactly_where_spark_allows_it(self):
        job_story.write_rank(0, 2, "spark-cut")
        cut = job_story.write_rank(1, 2, "spark-cut", steps=400)
        with open(cut, "r+b") as file:
            file.truncate(os.path.getsize(cut) // 2)
        # A recording of another rank fails only where it is read.
        first = load("sites", os.path.dirname(cut), strict="true").where("rank = 0")
        spark.conf.set(PUSHDOWN, "true")
        self.assertGreater(len(first.collect()), 0)
        spark.conf.set(PUSHDOWN, "false")
        self.assertIn(
            "train.r1.gmt.gz",
            self.error_of(load("sites", os.path.dirname(cut), strict="true").where("rank = 0").collect),
        )

    def test_bad_files_are_left_out_and_listed_and_strict_fails(self):
        folder = cli.place("spark-bad")
        os.makedirs(folder, exist_ok=True)
        job_story.write_rank(0, 2, "spark-bad")
        w.write(f"{folder}/newer.gmt.gz", w.process(), head=w.header(major=99))
        cut = job_story.write_rank(1, 2, "spark-bad", steps=400)
        with open(cut, "r+b") as file:
            file.truncate(os.path.getsize(cut) // 2)
        self.assertEqual(sorted(listed(load("process", folder).select("rank"))), [(0,), (1,)])
        states = dict(listed(load("files", folder).select("path", "state")))
        self.assertEqual(sorted(states.values()), ["complete", "damaged", "unreadable"])
        error = self.error_of(load("sites", folder, strict="true").collect)
        self.assertIn("newer.gmt.gz", error)


if __name__ == "__main__":
    tap.main()
