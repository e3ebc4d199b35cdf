# SPDX-License-Identifier: MIT
"""deep_stack_loop.py TRACKER LIBRARY measure COUNT ROUNDS [THREADS] | first THREADS | record COUNT STACKS LIVE

Calls deep_stack_loop.c, fifteen Python frames deep. TRACKER is "-" for none. "python:FILE" is memray with Python stacks,
"native:FILE" memray with Python and native stacks.
measure: Runs rounds of COUNT pairs of calls, with three shapes of stacks: the same stack each time, the same frames
with a saved loop counter, and 64 different stacks. Prints JSON for each shape: the processor and the wall nanoseconds
of a pair in the fastest round (the mean over THREADS concurrent threads), and the number of frames.
first: Prints the median of the first pair of calls in a new thread, in wall nanoseconds.
record: Runs COUNT pairs at full speed, from STACKS stacks, with LIVE blocks alive. Prints the time of the loop, the
processor time of the recorder's writer, and the end of the program by the monotonic clock; all in nanoseconds.
"""

import contextlib
import ctypes
import json
import os
import statistics
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "helpers"))

import tasks

NATIVE_FRAMES, PYTHON_FRAMES = 30, 15
SHAPES = {"same": 1, "counting": 0, "differing": 64}


def python_frames():
    frame, count = sys._getframe(1), 0
    while frame:
        frame, count = frame.f_back, count + 1
    return count


def deeper(missing, call):
    """Calls `call` below `missing` more Python frames. Adds no native frames of the interpreter."""
    return deeper(missing - 1, call) if missing > 0 else call()


def at_depth(call):
    # The last frame of `deeper` and the frame of `call` count too.
    return deeper(PYTHON_FRAMES - python_frames() - 2, call)


def run(library, stacks, count, live, rounds, rests):
    """Returns (frames, [processor, wall] nanoseconds of a pair for each round)."""
    out = (ctypes.c_double * (2 * rounds))()
    frames = [0, 0]

    def call():
        frames[1] = python_frames()
        frames[0] = library.deep_run(NATIVE_FRAMES, stacks, count, live, rounds, rests, out)

    at_depth(call)
    if frames[0] < 0:
        sys.exit("deep_stack_loop.py: no memory")
    return frames, [out[2 * i : 2 * i + 2] for i in range(rounds)]


def in_threads(library, stacks, count, rounds, threads):
    results = [None] * threads

    def work(index):
        results[index] = run(library, stacks, count, 0, rounds, 1)

    if library.deep_begin(threads):
        sys.exit("deep_stack_loop.py: no barrier")
    others = [threading.Thread(target=work, args=(i,)) for i in range(1, threads)]
    for thread in others:
        thread.start()
    work(0)
    for thread in others:
        thread.join()
    # The mean of all threads in a round: the time of one thread would hide that it had another thread's core as well.
    best = [min(statistics.fmean(result[1][i][kind] for result in results) for i in range(rounds)) for kind in (0, 1)]
    return {"cpu_ns": best[0], "wall_ns": best[1], "frames": results[0][0]}


def measure(library, count, rounds, threads=1):
    # Warms up: the first calls of a process create a context, and the recorder learns from them.
    in_threads(library, max(SHAPES.values()), count, 2, threads)
    return {name: in_threads(library, stacks, count, rounds, threads) for name, stacks in SHAPES.items()}


def first(library, threads):
    in_threads(library, 1, 100, 2, 1)
    out = (ctypes.c_double * threads)()
    if library.deep_first(threads, out):
        sys.exit("deep_stack_loop.py: no thread")
    return statistics.median(out)


def writer_cpu_ns():
    """Returns the processor time of the recorder's writer, or None when there is no writer."""
    writer = tasks.find_thread(tasks.WRITER)
    if writer is None:
        return None
    with open(f"/proc/self/task/{writer}/schedstat", encoding="utf-8") as times:
        return int(times.read().split()[0])


def record(library, count, stacks, live):
    library.deep_begin(1)
    run(library, stacks, 100, 0, 1, 0)
    before_ns = writer_cpu_ns()
    _, ((cpu_ns, wall_ns),) = run(library, stacks, count, live, 1, 0)
    after_ns = writer_cpu_ns()
    return {
        "loop_cpu_ns": cpu_ns * count,
        "loop_wall_ns": wall_ns * count,
        "writer_cpu_ns": None if after_ns is None else after_ns - (before_ns or 0),
        "end_ns": time.monotonic_ns(),
    }


def tracked(how):
    """Uses memray's Python interface. Its command would add frames, so the stacks would differ."""
    if how == "-":
        return contextlib.nullcontext()
    import memray

    kind, path = how.split(":", 1)
    return memray.Tracker(path, native_traces=kind == "native")


def main():
    modes = {"measure": measure, "first": first, "record": record}
    tracker, library, mode, *arguments = sys.argv[1:]
    with tracked(tracker):
        printed = modes[mode](ctypes.CDLL(library), *map(int, arguments))
    print(json.dumps(printed), flush=True)


if __name__ == "__main__":
    main()
