# SPDX-License-Identifier: MIT
"""How many instructions the path of an event takes, counted under callgrind: the same on a busy machine as on an idle one.

A loop of cudaMalloc and cudaFree, twenty functions deep (malloc_loop.c). What the loop's own start takes cancels out between a
short and a long run, what the simulated device takes between two of the recorder's options. Only the loop's thread is counted.
"""
import glob
import os
import shutil
import subprocess
import tempfile
import unittest

import tap
from snapshots import BUILD, SHIM, SIMCUDA

PROGRAM = os.path.join(BUILD, "tests", "bench", "malloc-loop")
VALGRIND = shutil.which("valgrind")
SHORT, LONG = 1000, 5000
PER_COUNT = 1.1  # the program warms up with a tenth

# Raise one only for a reason that is worth it.
BOUNDS = {
    "none": 1600,     # a pair of calls without stacks, with what the simulated device takes for what it is asked
    "native": 640,    # a stack that is the same each time: of the allocation of a pair
    "varying": 3040,  # two stacks of which each differs from the one before in its innermost frame: the free's too
}


def instructions(options, count):
    """Of the loop's thread."""
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as folder:
        settings = [f"GPUMEMTRACE_OPTIONS={options}:samples=off", f"LD_PRELOAD={SHIM}"] if options else []
        subprocess.run([VALGRIND, "--tool=callgrind", "--trace-children=yes", "--separate-threads=yes",
                        f"--callgrind-out-file={folder}/out.%p", "env", *settings, PROGRAM, str(count), "1", "20"],
                       env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA}, cwd=folder, capture_output=True, check=True)
        for path in glob.glob(os.path.join(folder, "out.*-01")):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if "malloc-loop" in text:
                return int(text.split("\nsummary: ")[1].split()[0])
    raise AssertionError("callgrind wrote nothing of the program")


def per_pair(options):
    return (instructions(options, LONG) - instructions(options, SHORT)) / ((LONG - SHORT) * PER_COUNT)


@unittest.skipUnless(VALGRIND, "valgrind is not here")
@unittest.skipUnless(os.uname().machine == "x86_64", "the bounds are of x86-64")
class Instructions(unittest.TestCase):
    def test_an_event_and_a_native_stack_stay_within_their_bounds(self):
        plain, none, native, varying = (per_pair(options) for options in (
            None, "stacks=none", "stacks=native", "stacks=native:free_stacks=on"))
        found = {"none": none - plain, "native": native - none, "varying": varying - none}
        print(f"# two events: {found['none']:.0f}, a native stack: {found['native']:.0f}, two whose top differs: "
              f"{found['varying']:.0f} instructions", flush=True)
        for name, bound in BOUNDS.items():
            self.assertLess(found[name], bound, name)
            # Much less is something that was not measured, or a bound that could be lower.
            self.assertGreater(found[name], bound / 3, name)


if __name__ == "__main__":
    tap.main()
