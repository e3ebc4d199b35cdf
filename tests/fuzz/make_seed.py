# SPDX-License-Identifier: MIT
"""Makes a small seed for fuzzing from a recording, without stacks and without information about the machine.

    make_seed.py RECORDING SEED        (with tests/helpers in PYTHONPATH)

The kept seeds (corpus/recording) are the content of such files without gzip. One seed comes from a recording of
`random-calls 3 1000 2 ACCOUNTING` (tests/random), most others from recordings of tests/cli.
"""

import itertools
import sys

import read_recording
import write_recording as w

LEFT_OUT = {"process", "option", "module", "code", "frame", "frames", "stack", "note"}


def main():
    path, to = sys.argv[1:]
    rows = [row for row in read_recording.read(path) if row["record"] not in LEFT_OUT]
    start = next(row["stamp"] for row in rows if row["record"] == "clock")
    blocks = [w.process(start_stamp=start)]
    for name, group in itertools.groupby(rows, key=lambda row: row["record"]):
        blocks.append(w.block(name, *({**row, "stack": 0, "frames": 0} for row in group)))
    w.write(to, *blocks)


if __name__ == "__main__":
    main()
