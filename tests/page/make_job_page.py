# SPDX-License-Identifier: MIT
"""usage: make_job_page.py KIND TEMPLATE OUTPUT.html

Generates the recordings of a job and makes its page by `gpumemtrace ranks --html`. Then puts the data of this page into
TEMPLATE, a template from page/build. If TEMPLATE is "-", the page stays as the program wrote it. KIND is one of KINDS.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))

import cli
import fill_template
import job_story
import write_recording as w
from definitions import Kind
from job_story import write_rank
from recording import MiB, Story, train

STEPS, TIMES = 66, 67  # record numbers of the two curves in a summary
SCRIPT = "</script><img src=x onerror=alert(1)>\u202e<b>"
PROGRAM = os.environ.get("GMT_TEST_PAGE_CLI", os.path.join(cli.BUILD, "tests", "cli", "gpumemtrace-with-page"))


def refuse_request(story):
    story.event(Kind.ALLOC_FAILED, size_bytes=16 << 30, frames=story.stack("/home/me/train.py:70 in gather"), result=2)


def write(folder, count, world=None, **of_rank):
    """Writes recordings of `count` ranks. `of_rank` has, for each argument of write_rank, a function of the rank."""
    for rank in range(count):
        options = {key: value(rank) for key, value in of_rank.items()}
        write_rank(rank, world or count, folder, name=f"{folder}/train.r{rank}.gmt.gz", **options)


def large(folder):
    job_story.write_large_job(folder)


def noisy(folder, world=4096, steps=128):
    """Writes a job whose ranks have the longest curves: 128 steps and 64 times, each with another size."""
    story = job_story.rank_story(0, world)
    train(story, steps=steps, size=64 * MiB)
    header, blocks = job_story.blocks_of(job_story.summary(story.write("noisy.gmt.gz")))
    random.seed(7)

    def curve(number, block, first):
        rows = int.from_bytes(block[4:8], "little")
        sizes = [[(1 << 32) + 512 * random.randrange(1 << 21) for _ in range(rows)] for _ in range(2)]
        columns = [w.column("D", first(rows)), w.column("U", [max(pair) for pair in zip(*sizes)])]
        ends = w.column("U", [min(pair) for pair in zip(*sizes)])
        if number == STEPS:
            columns.insert(1, w.column("D", [1000 * (row + 1) + random.randrange(500) for row in range(rows)]))
        return w.raw_block(number, rows, b"".join([*columns, ends]))

    for rank in range(world):
        story = job_story.rank_story(rank, world)
        length = random.randrange(10**10, 11 * 10**9)
        own = {
            STEPS: lambda block: curve(STEPS, block, range),
            TIMES: lambda block, length=length: curve(
                TIMES, block, lambda rows: range(length, length * (rows + 1), length)
            ),
        }
        curves = [(number, own[number](block) if number in own else block) for number, block in blocks]
        job_story.place_summary(
            (header, curves), f"{folder}/train.r{rank}.summary.gz", {**w.PROCESS, **story.process}, story.environment
        )


def eight(folder):
    """Writes a job: rank 5 leaks, rank 2 was killed after 30 of 60 steps, rank 4 failed, ranks 6 and 7 hold more."""
    write(
        folder, 8,
        steps=lambda rank: 30 if rank == 2 else 60, leak=lambda rank: 4 * MiB * (rank == 5),
        size=lambda rank: (96 if rank >= 6 else 64) * MiB, ends=lambda rank: rank != 2,
        also=lambda rank: refuse_request if rank == 4 else None, host_ranks=lambda _: 4,
    )  # fmt: skip


def alike(folder):
    write(folder, 4)


def many(folder):
    """Writes more recordings than the page takes."""
    write(folder, 12, leak=lambda rank: 4 * MiB * (rank == 7))


def stepless(folder):
    write(folder, 5, steps=lambda _: 0, size=lambda rank: (1 + rank) * MiB)


def one(folder):
    write(folder, 1)


def empty(folder):
    for rank in range(2):
        job_story.rank_story(rank, 2).write(f"{folder}/r{rank}.gmt.gz")


def processes(folder):
    """Processes of one `gpumemtrace run` without ranks."""
    for pid in range(3):
        story = Story(host="vm", pid=100 + pid, parent_pid=1, command=b"python\0serve.py\0")
        for _step in range(3):
            story.alloc((1 + pid) * MiB, "/home/me/serve.py:5 in load")
        story.write(f"{folder}/p{pid}.gmt.gz")


def hostile(folder):
    for rank in range(5):
        story = Story(rank=rank, host=SCRIPT * 4, command=SCRIPT.encode(), executable=SCRIPT, pid=10 + rank)
        story.environment = job_story.launcher_variables(rank, 7, job=SCRIPT, ROLE_NAME=SCRIPT)
        story.alloc(MiB * (40 if rank == 3 else 1), f"{SCRIPT.replace(' ', '')}:1 in {SCRIPT.replace(' ', '')}")
        story.write(f"{folder}/it's r{rank}.gmt.gz")


KINDS = {each.__name__: each for each in (large, noisy, eight, alike, many, stepless, one, empty, processes, hostile)}


def main():
    kind, template, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/job")
        KINDS[kind](f"{folder}/job")
        subprocess.run([PROGRAM, "ranks", "--html=page.html", "job"], cwd=folder, check=True)
        if template == "-":
            shutil.copy(f"{folder}/page.html", output)
        else:
            fill_template.fill(template, f"{folder}/page.html", output)


if __name__ == "__main__":
    main()
