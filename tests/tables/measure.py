# SPDX-License-Identifier: MIT
"""measure.py [EVENTS]: how long tables of a large synthetic recording take, from an open recording into each library.

Not a test: it prints milliseconds, the best of five passes, and what the first pass took. GMT_TEST_BUILD is the build
folder.
"""

import os
import sys
import time

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import duckdb  # noqa: E402
import pandas  # noqa: E402
import pyarrow  # noqa: E402

import gpumemtrace  # noqa: E402


def milliseconds(function):
    """Returns the time of the first call, the best time, and the best processor time."""
    times, processor = [], []
    for _ in range(5):
        begin, begin_processor = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - begin) * 1e3)
        processor.append((time.process_time() - begin_processor) * 1e3)
    return times[0], min(times), min(processor)


def sum_by_line(events):
    # DuckDB finds the variable by its name.
    return duckdb.sql("select line, sum(size_bytes) from events group by 1").fetchall()


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    path = cli.make("measure.gmt.gz", events=events, sites=2000, steps=200, torch=1, depth=12)
    pyarrow.table({"a": [1]}).to_pandas()
    begin = time.perf_counter()
    recording = gpumemtrace.open(path)
    print(f"{'gpumemtrace.open':44}{(time.perf_counter() - begin) * 1e3:8.0f}")
    print(f"{'':44}{'first':>8}{'best':>8}{'processor':>10}")
    lean = recording.table("events", columns=["time_ns", "kind", "address", "size_bytes"])
    part = recording.table("events", columns=["time_ns", "size_bytes"], steps=100)
    table = recording.table("events")
    blocks = recording.table("blocks")
    for name, function in (
        ("events, 4 columns, pandas.DataFrame.from_arrow", lambda: pandas.DataFrame.from_arrow(lean)),
        ("events, 1 step, 2 columns, pandas", lambda: pandas.DataFrame.from_arrow(part)),
        ("events, all columns, pyarrow", table.to_pyarrow),
        ("events, all columns, pandas.DataFrame.from_arrow", lambda: pandas.DataFrame.from_arrow(table)),
        ("events, all columns, to_pandas", table.to_pandas),
        ("events, all columns, to_polars", table.to_polars),
        ("events, sum by line, DuckDB", lambda: sum_by_line(table)),
        ("blocks, all columns, to_pandas", blocks.to_pandas),
    ):
        first, best, processor = milliseconds(function)
        print(f"{name:44}{first:8.0f}{best:8.0f}{processor:10.0f}")


if __name__ == "__main__":
    main()
