# SPDX-License-Identifier: MIT
"""measure_spark.py [FILES]: how long Spark takes for the tables of many small recordings, by the files in a task.

Not a test: it prints seconds of the first run and the best of three more. GMT_TEST_BUILD is the build folder.
"""

import os
import sys
import time

import stories

stories.enter_environment(os.path.abspath(__file__), "data-engine", "spark")

import cli  # noqa: E402 (these need the environment)
import job_story  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

import gpumemtrace.spark  # noqa: E402

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def seconds(function):
    """Returns the time of the first call, and the best of three more."""
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return times[0], min(times[1:])


def session():
    # Workers import the package, and use this Python.
    os.environ.update(PYTHONPATH=stories.PACKAGE, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    made = (
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
    made.sparkContext.setLogLevel("OFF")
    return made


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    for rank in range(files):
        job_story.write_rank(rank, files)
    begin = time.perf_counter()
    spark = session()
    gpumemtrace.spark.register(spark)
    print(f"{'start of Spark':48}{time.perf_counter() - begin:8.1f}")
    print(f"{f'{files} recordings, local[2]':48}{'first':>8}{'again':>8}")

    def sites(a_task):
        reader = spark.read.format("gpumemtrace").option("table", "sites").option("filesPerTask", a_task)
        return reader.load(cli.place("job"))

    for a_task in (1, 8, 64):
        times = seconds(lambda: sites(a_task).groupBy("rank").sum("peak_bytes").collect())
        print(f"{f'sum(peak_bytes) by rank, {a_task} files a task':48}{times[0]:8.1f}{times[1]:8.1f}", flush=True)
    for is_pushed in ("false", "true"):
        spark.conf.set(PUSHDOWN, is_pushed)
        times = seconds(lambda: sites(64).filter("rank = 3").collect())
        print(f"{f'rows of rank 3, filter pushdown {is_pushed}':48}{times[0]:8.1f}{times[1]:8.1f}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
