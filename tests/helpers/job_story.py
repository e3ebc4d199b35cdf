# SPDX-License-Identifier: MIT
"""Makes jobs of many ranks: recordings, and summaries in which only the place in the job differs. Runs `ranks`.

It reads and writes summaries by docs/internals/summary-format.md, without code of src.
"""

import gzip
import json
import os
import re
import shutil
import struct

import cli
import write_recording as w
from definitions import Kind
from read_recording import RECORDS
from recording import MiB, Story, train

HEADER_BYTES, BLOCK_HEADER_BYTES = 20, 16
SUMMARY = 64  # the number of the record with which a summary begins


def launcher_variables(rank, world, host_ranks=8, job="4711", **more):
    """Returns the variables that Slurm and torchrun set."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_RANK": str(rank % host_ranks),
        "GROUP_RANK": str(rank // host_ranks),
        "SLURM_JOB_ID": job,
        "SLURM_STEP_ID": "0",
        **more,
    }


def rank_story(rank, world, host_ranks=8, job="4711", environment=None, **process):
    story = Story(
        **{
            "rank": rank,
            "local_rank": rank % host_ranks,
            "host": f"node{rank // host_ranks}",
            "pid": 1000 + rank,
            "command": b"python\0train.py\0",
            **process,
        }
    )
    story.environment = launcher_variables(rank, world, host_ranks, job, **(environment or {}))
    story.uuid = f"GPU-{rank}"
    return story


def write_rank(rank, world, folder="job", steps=40, leak=0, size=64 * MiB, name=None, ends=True, also=None, **more):
    """Writes the recording of one rank and returns its path."""
    os.makedirs(cli.place(folder), exist_ok=True)
    story = rank_story(rank, world, **more)
    train(story, steps=steps, leak=leak, size=size)
    if also:
        also(story)
    return story.write(name or f"{folder}/train.r{rank}.gmt.gz", ends=ends)


def summary(path):
    """Writes the summary of a recording and returns its path."""
    done = cli.run("summarize", path)
    assert done.returncode == 0, done.stderr
    return re.sub(r"\.gmt\.gz$", ".summary.gz", path)


def blocks_of(path):
    """Returns the header of a summary, and its blocks as pairs of a record's number and bytes."""
    with gzip.open(path) as file:
        data = file.read()
    at, blocks = HEADER_BYTES, []
    while at < len(data):
        kind, _rows, size = struct.unpack_from("<III", data, at)
        end = at + BLOCK_HEADER_BYTES + size
        blocks.append((kind, data[at:end]))
        at = end
    return data[:HEADER_BYTES], blocks


def number_of(name):
    return next(number for number, (record, _fields) in RECORDS.items() if record == name)


def varint(data, at):
    """Returns the number at `at` and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def with_recording_name(head, name):
    """Returns the first block of a summary with another name of the recording, which is its first column."""
    length, at = varint(head, BLOCK_HEADER_BYTES)
    return w.raw_block(SUMMARY, 1, w.column("S", [name]) + head[at + length :])


def place_summary(path, to, process, environment, uuid=""):
    """Copies a summary to another place in the job. The counts of rows stay the same."""
    header, blocks = path if isinstance(path, tuple) else blocks_of(path)
    recording = os.path.basename(to).replace(".summary.gz", ".gmt.gz")
    replaced = {
        SUMMARY: with_recording_name(blocks[0][1], recording),
        number_of("process"): w.block("process", process),
        number_of("device"): w.block(
            "device", {"ordinal": 0, "name": "A GPU", "uuid": uuid or f"GPU-{process['rank']}", "total_bytes": 80 << 30}
        ),
        number_of("environment"): w.block("environment", *({"name": k, "value": v} for k, v in environment.items())),
    }
    data = header + b"".join(replaced.get(kind, block) for kind, block in blocks)
    with open(to, "wb") as file:
        file.write(gzip.compress(data, compresslevel=1, mtime=0))


LEAKING, MISSING, STAGES, BAD_STAGE = 1234, 3071, 8, 3


def write_large_job(folder, world=4096):
    """Writes the summaries of a job with three faults: a leaking rank, a stage with more memory, a missing rank."""

    def model(size, leak=0):
        name = f"model.{size}.{leak}.gmt.gz"
        story = rank_story(0, world)
        for layer in range(40):
            story.alloc(
                64 * MiB if layer else size,
                f"/home/me/model.py:{100 + layer} in build_layer{layer}",
                "/home/me/train.py:90 in main",
            )
        train(story, steps=100, leak=leak, size=64 * MiB)
        return blocks_of(summary(story.write(name)))

    os.makedirs(folder, exist_ok=True)
    plain, large, leaking = model(512 * MiB), model(2048 * MiB), model(512 * MiB, 8 * MiB)
    for rank in range(world):
        if rank == MISSING:
            continue
        stage = rank * STAGES // world
        story = rank_story(rank, world)
        place_summary(
            leaking if rank == LEAKING else large if stage == BAD_STAGE else plain,
            os.path.join(folder, f"train.r{rank}.summary.gz"),
            {**w.PROCESS, **story.process},
            story.environment,
        )
    return folder


def ranks(*arguments, code=0):
    """Returns what `ranks --json` prints."""
    done = cli.run("ranks", "--json", *arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def ranks_text(*arguments):
    done = cli.run("ranks", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def empty_folder(name):
    """Makes an empty folder for temporary files, or empties it. Returns its path."""
    shutil.rmtree(cli.place(name), ignore_errors=True)
    os.makedirs(cli.place(name))
    return cli.place(name)


def write_job(name, count, world=None, **of_rank):
    """Writes a job of `count` ranks. `of_rank` has, for each argument of write_rank, a function of the rank."""
    folder = empty_folder(name)
    for rank in range(count):
        write_rank(rank, world or count, name, **{key: value(rank) for key, value in of_rank.items()})
    return folder


def refuse_request(story):
    """Adds a request for 16 GiB, which fails."""
    story.event(Kind.ALLOC_FAILED, size_bytes=16 << 30, frames=story.stack("/home/me/train.py:70 in gather"), result=2)
