# SPDX-License-Identifier: MIT
"""The job of docs/data/engines.md, and its questions as SQL with the answers that the page shows."""

import json
import os

import cli
import job_story
import sql_page
import stories
from definitions import Kind
from recording import MiB

PAGE = os.path.join(stories.SOURCE, "docs", "data", "engines.md")
WORLD = 9
TABLES = ("process", "sites", "curve", "findings", "events", "devices")  # that the questions use


def _refuse(story):
    """Asks for 16 GiB, which the driver refuses. The program goes on without it."""
    story.event(Kind.ALLOC_FAILED, size_bytes=16 << 30, frames=story.stack("/home/me/train.py:70 in gather"), result=2)


def _shared(story):
    story.uuid = "GPU-6"


def write(folder="job", has_earlier_attempt=False):
    """Writes 8 of 9 ranks on 3 hosts: one leaks, one holds more, one fails, one is killed, two share a GPU.

    Rank 4 was restarted. The recording of its first attempt, which held more, is written if `has_earlier_attempt`.
    """
    of_rank = {
        2: {"leak": 2 * MiB},
        3: {"size": 68 * MiB},
        4: {"environment": {"TORCHELASTIC_RESTART_COUNT": "1"}},
        5: {"also": _refuse},
        6: {"ends": False},
        7: {"also": _shared},
    }
    for rank in range(WORLD - 1):
        job_story.write_rank(rank, WORLD, folder, **{"host_ranks": 3, **of_rank.get(rank, {})})
    if has_earlier_attempt:
        job_story.write_rank(4, WORLD, folder, size=96 * MiB, host_ranks=3, steps=10, name=f"{folder}/first.r4.gmt.gz")
    return cli.place(folder)


def ranks(folder):
    """Returns what `ranks --json` prints."""
    done = cli.run("ranks", "--json", folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def questions():
    """Returns the questions of the page."""
    return sql_page.questions(PAGE)


def check(test, answers, folder):
    """Compares the rows that an engine gave for each question with `ranks --json`."""
    job = ranks(folder)
    of_rank = {rank["rank"]: rank for rank in job["ranks"]}
    test.assertEqual(len(answers), 12)

    def same(number, expected):
        with test.subTest(question=number):
            test.assertGreater(len(expected), 0)
            test.assertEqual([tuple(row) for row in answers[number - 1]], expected)

    same(
        1,
        [
            (
                len(job["ranks"]),
                len(job["hosts"]),
                job["world_size"],
                job["incomplete_ranks"],
            )
        ],
    )
    missing = job["missing_ranks"]
    same(2, [(missing[0], missing[-1])])
    same(3, [(number, rank["peak_bytes"]) for number, rank in of_rank.items()])
    peaks = job["peaks"]
    same(4, [tuple(peaks[f"{name}_bytes"] for name in ("min", "median", "max", "spread"))])
    same(5, [(one["rank"], one["difference_bytes"]) for one in job["outliers"]])
    first = job["outliers"][0]
    test.assertEqual((first["rank"], of_rank[first["compared_with_rank"]]["peak_bytes"]), (2, of_rank[4]["peak_bytes"]))
    same(
        6,
        [
            (f"/home/me/{line['place']['file']}:{line['place']['line']}", line["difference_bytes"])
            for line in first["lines"]
        ],
    )
    same(7, [(host["host"], host["ranks"], host["sum_peak_bytes"]) for host in job["hosts"]])
    same(8, [(number, rank["peak_step"]) for number, rank in of_rank.items()])
    grown = {number: rank["growth"] for number, rank in of_rank.items() if rank["growth"]}
    test.assertEqual((len(grown), min(grown)), (job["growth"]["ranks"], job["growth"]["first_rank"]))
    same(
        9,
        [
            (number, one["first_step"], one["step_bytes"], f"/home/me/{one['place']['file']}:{one['place']['line']}")
            for number, one in grown.items()
        ],
    )
    failed = of_rank[job["out_of_memory"]["first_rank"]]
    place = failed["first_failure"]["place"]
    same(
        10,
        [
            (
                failed["rank"],
                failed["first_failure"]["requested_bytes"],
                failed["start_time_ns"] + failed["first_failure"]["time_ns"],
                f"/home/me/{place['file']}:{place['line']}",
            )
        ],
    )
    same(11, [(one["host"], one["uuid"], one["processes"]) for one in job["shared_devices"]])
    same(12, [(number, rank["attempt"]) for number, rank in of_rank.items() if rank["attempt"]])


def update(answers):
    """Writes the answers into the page: `GMT_TEST_UPDATE=1 meson test -C build tables-engines`."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    for question, rows in zip(questions(), answers):
        before = "\n".join(f"-- {line}" for line in question.answer)
        at = page.index(before, page.index(f"-- {question.title}\n") + len(question.title))
        after = "\n".join(f"-- {line}" for line in sql_page.shown(rows))
        page = page[:at] + after + page[at + len(before) :]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)
